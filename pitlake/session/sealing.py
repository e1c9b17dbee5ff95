"""`sealed`: runs untrusted SQL over your own tables as of an instant, without a lake.

The tables are mounted in a temporary lake, which is removed once the session is open. After that, later rows exist only
in the caller's own tables.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from tempfile import TemporaryDirectory
from typing import Any

from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from pitlake.session.api import open_session
from pitlake.session.limits import Limits
from pitlake.session.session import Session
from pitlake.session.viewpoint import Viewpoint


def sealed(  # noqa: PLR0913 - all that a table may need
    tables: Mapping[str, Any],
    *,
    as_of: str | datetime,
    available_at: str | Mapping[str, str],
    key: Mapping[str, str | Sequence[str]] | None = None,
    time_format: str | None = None,
    midnights: str | None = None,
    timezone: str | None = None,
    lag: str | None = None,
    limits: Limits | None = None,
) -> Session:
    """Open a sealed session over tables, without rows that became known after an instant.

    Args:
        tables: A path or a frame by name, as `Lake.mount` takes them.
        as_of: The instant, ISO-8601 with an offset, or an aware datetime.
        available_at: The column that says when a row became known: one for all tables, or by table.
        key: By table, the columns that identify what a row is about; the newest statement is shown (default: every row
            is shown, and the column `row` identifies it).
        time_format, midnights: As for `Lake.mount`.
        timezone: The zone of timestamps without one, and of dates, which count at their end.
        lag: The delay after which a row became known, such as "1 day".
        limits: Bounds of time, memory and results.

    Raises:
        BadInput: For invalid arguments and tables.
        IsolationUnavailable: If this system can't seal a process.
    """
    if not tables:
        raise BadInput("tables", "names no table", "give a dict of names and tables")
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
