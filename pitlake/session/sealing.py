"""`sealed`: runs untrusted SQL over your own tables without a lake, either whole or as of an instant.

Whole tables are loaded into the session. For an instant, they are mounted in a temporary lake, which is removed once
the session is open. After that, later rows exist only in the caller's own tables.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from pitlake.lake.mounting.source import opened
from pitlake.lake.storage.manifest import Snapshot
from pitlake.session import arguments
from pitlake.session.api import open_session
from pitlake.session.contracts import Catalogue
from pitlake.session.limits import Limits
from pitlake.session.opener import Opener
from pitlake.session.session import Session
from pitlake.session.viewpoint import Viewpoint
from pitlake.session.visible.cut_cache import CutCache


def sealed(  # noqa: PLR0913 - all that a table may need
    tables: Mapping[str, Any],
    *,
    as_of: str | datetime | None = None,
    available_at: str | Mapping[str, str] | None = None,
    key: Mapping[str, str | Sequence[str]] | None = None,
    time_format: str | None = None,
    midnights: str | None = None,
    timezone: str | None = None,
    lag: str | None = None,
    limits: Limits | None = None,
) -> Session:
    """Open a sealed session over whole tables, or over the rows that were known at an instant.

    Args:
        tables: A path or a frame by name, as `Lake.mount` takes them; without an instant also a list of dicts.
        as_of: The instant, ISO-8601 with an offset, or an aware datetime (default: the tables are whole, and the other
            arguments about times and keys are refused).
        available_at: The column that says when a row became known: one for all tables, or by table.
        key: By table, the columns that identify what a row is about; the newest statement is shown (default: every row
            is shown, and the column `row` identifies it).
        time_format, midnights: As for `Lake.mount`.
        timezone: The zone of timestamps without one, and of dates, which mean their end.
        lag: The delay after which a row became known, such as "1 day".
        limits: Bounds of time, memory and results.

    Raises:
        BadInput: For invalid arguments and tables.
        IsolationUnavailable: If this system can't seal a process.
    """
    if not tables:
        raise BadInput("tables", "names no table", "give a dict of names and tables")
    if as_of is None:
        of_times = {"available_at": available_at, "key": key, "time_format": time_format, "midnights": midnights}
        of_times |= {"timezone": timezone, "lag": lag}
        for name in (name for name, value in of_times.items() if value is not None):
            raise BadInput(name, "needs an instant", "give as_of as well, or leave it out for whole tables")
        return _of_whole(tables, limits)
    if available_at is None:
        raise BadInput("available_at", "is missing", "name the column with the times at which rows became known")
    viewpoint = Viewpoint.parse(as_of)
    with TemporaryDirectory(prefix="pitlake-sealed-") as folder:
        lake = Lake(folder)
        for name, table in tables.items():
            column = available_at if isinstance(available_at, str) else available_at.get(name)
            if not column:
                problem = f"does not name a column of {name}"
                raise BadInput("available_at", problem, "name the column with the times at which its rows became known")
            lake.mount(
                table,
                name,
                key=(key or {}).get(name, ()),
                available_at=column,
                time_format=time_format,
                midnights=midnights,
                timezone=timezone,
                lag=lag,
            )
        return open_session(Viewpoint.parse(viewpoint.as_of, lake=lake), datasets=list(tables), limits=limits)


def read(table: Any) -> pa.Table:
    """Return the Arrow table, with its own zones, of a path or frame that `Lake.mount` accepts. Raises BadInput."""
    with opened(table) as source:
        rows = source.connection.sql(f"FROM {source.rows}").to_arrow_table()
        for place, column in enumerate(rows.schema):
            if zone := source.zones.get(column.name):
                zoned = pa.timestamp(column.type.unit, zone)
                rows = rows.set_column(place, column.name, rows.column(place).cast(zoned))
        return rows


def _of_whole(tables: Mapping[str, Any], limits: Limits | None) -> Session:
    opener = Opener(
        snapshot=Snapshot(0),
        catalogue=Catalogue({}),
        datasets=(),
        limits=arguments.bounds(limits),
        cut_cache=CutCache(),
        sealed=True,
        omit=False,
    )
    session = Session(Viewpoint(as_of=None), opener)
    try:
        for name, table in tables.items():
            session.load(name, table if isinstance(table, list | pa.Table) else read(table))
    except BaseException:
        session.close()
        raise
    session.datasets, session.views = tuple(tables), {name: name for name in tables}
    return session
