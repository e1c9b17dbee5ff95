"""Sources that can be mounted, opened in DuckDB: files, tables and frames. Detects columns and their types."""

import re
import tempfile
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import duckdb
import pyarrow as pa

from pitlake import machine
from pitlake.errors import BadInput
from pitlake.lake.mounting import postgres
from pitlake.lake.mounting.files import IsText, LocalFiles, RemoteFiles, never
from pitlake.lake.mounting.postgres import PostgresTable
from pitlake.lake.mounting.rows import Rows, literal, types_of
from pitlake.lake.mounting.tables import Delta, DuckDBTable, is_duckdb
from pitlake.lake.storage.parallel import workers
from pitlake.lake.tables.query import CONFIG, quoted

ROWS = "source"
"""The name of the opened table's rows."""
ROW = "row"
MEMORY = "1GB"
AFTER_CALENDAR = "10000-01-01"
"""The first day that Python's calendar does not have."""
_WHOLE = re.compile(r"(TINY|SMALL|BIG|U|UTINY|USMALL|UBIG|HUGE|UHUGE)?(INT|INTEGER)|DECIMAL\(\d+,0\)")
_NO_ZONE = re.compile(r"TIMESTAMP(_S|_MS|_NS)?")


@dataclass(frozen=True)
class Source:
    """An opened table.

    label: its name for people; digest: the hash of its bytes, "" for a frame; types: DuckDB's types by column; rows:
    the name of its rows in SQL.
    """

    connection: duckdb.DuckDBPyConnection
    label: str
    digest: str
    types: dict[str, str]
    rows: str = ROWS

    def type_of(self, column: str) -> str:
        """Return the lake's type for a column. Raises BadInput for a column that can't be stored."""
        kind = self.types[column]
        if kind == "VARCHAR" and self._holds_instants(column):
            return "instant"
        if _WHOLE.fullmatch(kind):
            return "int"
        if kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL"):
            return "float"
        if kind.startswith("TIMESTAMP"):
            return "instant"
        plain = {"BOOLEAN": "bool", "DATE": "date", "VARCHAR[]": "strings", "FLOAT[]": "vector"}
        if kind in plain:
            return plain[kind]
        if kind.startswith(("BLOB", "INTERVAL", "BIT")):
            raise BadInput("columns", f"{column} is {kind}, which a lake can't hold", "leave it out of the table")
        nested = kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION", "JSON"))
        return "json" if nested else "string"

    def lacks_zone(self, column: str) -> bool:
        """Return whether a column holds timestamps without a zone."""
        if self.types[column] != "VARCHAR":
            return _NO_ZONE.fullmatch(self.types[column]) is not None
        query = f"SELECT coalesce(bool_or({without_zone(f'trim({quoted(column)})')}), false) FROM {self.rows}"
        return self.connection.sql(query).fetchall() == [(True,)]

    def _holds_instants(self, column: str) -> bool:
        """Whether a text column contains only timestamps."""
        text = f"trim({quoted(column)})"
        moment = f"length({text}) > 10 AND {instant_of_text(text, 'UTC')} IS NOT NULL"
        query = f"SELECT coalesce(bool_and({moment}), false) FROM {self.rows} WHERE {quoted(column)} IS NOT NULL"
        first = f"SELECT coalesce(bool_and({moment}), false) FROM (SELECT {quoted(column)} FROM {self.rows} LIMIT 1000)"
        return all(self.connection.sql(text).fetchall() == [(True,)] for text in (first, query))


class Origin(Protocol):
    """The location of a table that can be mounted."""

    def state(self) -> Hashable:
        """Return a value that changes when the table changes; None if only reading the table shows a change."""
        ...

    def read(self, connection: duckdb.DuckDBPyConnection, scratch: Path) -> Rows:
        """Return the table's rows, copied to `scratch` if they can't be read where they are. Raises BadInput."""
        ...


def find_origin(place: str, name: str | None = None, is_text: IsText = never) -> Origin:
    """Return the location of a table. name: the table's name, in a database. is_text: see `IsText`. Raises BadInput if
    it can't be mounted.
    """
    scheme, is_url, rest = place.partition("://")
    if is_url and scheme in postgres.SCHEMES:
        return PostgresTable(place, name)
    if is_url and (scheme != "s3" or "@" in rest or not rest.partition("/")[0]):
        problem = "s3:// without a plain bucket" if scheme == "s3" else f"{scheme}:// can't be mounted"
        raise BadInput("the table", problem, "give a path, s3://bucket/key or postgresql://host/database")
    if not is_url and is_duckdb(place):
        return DuckDBTable(place, name)
    if name is not None:
        raise BadInput("table", f"{Path(place).name} is not a database, so it has no table {name!r}", "leave it out")
    if (delta := Delta(place)).exists():
        return delta
    return RemoteFiles(place, is_text) if is_url else LocalFiles(place, is_text)


@contextmanager
def opened(table: Any, *, with_names: bool = False, is_text: IsText = never) -> Iterator[Source]:
    """Open a path, a URL, a pair of one of these and the name of a table, or a frame for a block.

    with_names: whether each row gets a unique name, in the column ROW. is_text: see `IsText`.
    Raises BadInput if it can't be read or has no rows, MachineExhausted if there is no space.
    """
    with tempfile.TemporaryDirectory(prefix="pitlake-mount-") as scratch:
        options = {"memory_limit": MEMORY, "temp_directory": scratch, "threads": str(workers())}
        connection = duckdb.connect(":memory:", config={**CONFIG, **options})
        try:
            place, name = table if isinstance(table, tuple) and len(table) == 2 else (table, None)
            if isinstance(place, (str, Path)):
                rows = find_origin(str(place), name, is_text).read(connection, Path(scratch))
            else:
                rows = _of_frame(connection, table)
            connection.execute(f"CREATE VIEW {ROWS} AS SELECT * FROM {rows.sql}")
            if not connection.sql(f"SELECT 1 FROM {ROWS} LIMIT 1").fetchall():
                raise BadInput("the table", "has no rows", "mount it once it has some")
            source = Source(connection, rows.label, rows.digest, types_of(connection, ROWS))
            yield _with_names(source) if with_names else source
        except duckdb.Error as error:
            if shortage := machine.exhausted(error, "the table", "read by DuckDB"):
                raise shortage from None
            raise BadInput("the table", f"can't be read: {_reason(error)}", "check its content") from error
        finally:
            connection.close()


def _reason(error: duckdb.Error) -> str:
    """Return the start of DuckDB's message. For a line of CSV the second line of the message says why."""
    lines = str(error).partition("\n\n")[0].splitlines()
    return " ".join([line for line in lines if not line.startswith("Original Line")][:2])


def _with_names(source: Source) -> Source:
    """Name each row by a hash of its content, and number rows with equal content.

    A name does not depend on rows with other content.
    """
    if ROW in source.types:
        raise BadInput("columns", f"{ROW} identifies rows", "rename the column, or give a key")
    content = f"ROW({', '.join(map(quoted, source.types))})"
    number = f"row_number() OVER (PARTITION BY {content})"
    source.connection.execute(
        f"CREATE VIEW named AS SELECT md5({content}::VARCHAR) || '-' || {number} AS {ROW}, * FROM {source.rows}"
    )
    return replace(source, types={ROW: "VARCHAR", **source.types}, rows="named")


def _of_frame(connection: duckdb.DuckDBPyConnection, frame: Any) -> Rows:
    if not hasattr(frame, "__arrow_c_stream__"):
        problem = f"a {type(frame).__name__} is not a table"
        raise BadInput("the table", problem, "give a path, or a frame of Arrow, polars or pandas")
    try:
        rows = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        problem = f"is not a frame that Arrow can read: {error}"
        raise BadInput("the table", problem, "each column needs values of one type") from error
    connection.register("frame", rows)
    return Rows("frame", f"a frame of {type(frame).__module__.partition('.')[0]}")


def instant_of_text(text: str, zone: str) -> str:
    """Return SQL for the instant of a text: a timestamp (without offset in a zone), or the end of a day; null for any
    other text.

    Fractions of a microsecond are rounded up, so that nothing is known early.
    """
    moment = r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?"
    offset = r"Z|[+-](0\d|1[0-5]):?[0-5]\d"
    cut = rf"regexp_replace({text}, '(\.\d{{6}})\d+', '\1')"
    finer = rf"if(regexp_matches({text}, '\.\d{{6}}\d*[1-9]'), INTERVAL 1 MICROSECOND, INTERVAL 0 SECOND)"
    return (
        f"CASE WHEN regexp_full_match({text}, '{moment}({offset})') "
        f"THEN try_cast({cut} AS TIMESTAMPTZ) + {finer} "
        f"WHEN regexp_full_match({text}, '{moment}') "
        f"THEN timezone({literal(zone)}, try_cast({cut} AS TIMESTAMP)) + {finer} "
        rf"WHEN regexp_full_match({text}, '\d{{4}}-\d{{2}}-\d{{2}}') "
        f"THEN {end_of_day(f'try_cast({text} AS DATE)', zone)} END"
    )


def without_zone(text: str) -> str:
    """Return SQL for whether a text is a timestamp without a zone."""
    return rf"regexp_full_match({text}, '\d{{4}}-\d{{2}}-\d{{2}}[T ]\d{{2}}:\d{{2}}(:\d{{2}}(\.\d{{1,9}})?)?')"


def end_of_day(day: str, zone: str) -> str:
    """Return SQL for the end of a day in a zone: the start of the next one."""
    return in_zone(f"({day} + 1)::TIMESTAMP", zone)


def in_zone(moment: str, zone: str) -> str:
    """Return SQL for the instant of a finite timestamp in a zone. UTC needs no calendar, which is slow."""
    return f"make_timestamptz(epoch_us({moment}))" if zone == "UTC" else f"timezone({literal(zone)}, {moment})"


def instant(source: Source, column: str, zone: str) -> str:
    """Return SQL for the instant in a time column; null if there is none. Raises BadInput for other columns."""
    name, kind = quoted(column), source.types[column]
    if kind == "VARCHAR":
        return instant_of_text(f"trim({name})", zone)
    if kind == "DATE":
        # The last days of DuckDB's calendar have no next one.
        day = f"least({name}, DATE '{AFTER_CALENDAR}')"
        return f"if(isfinite({name}), {end_of_day(day, zone)}, NULL)"
    if not kind.startswith("TIMESTAMP"):
        raise BadInput(
            "available_at", f"{column} is {kind}, which is not a time", "name a column of dates or timestamps"
        )
    moment, finer = name, ""
    if kind.endswith("_NS"):
        moment = f"{name}::{kind.removesuffix('_NS')}"
        finer = f" + if(epoch_ns({name}) % 1000 > 0, INTERVAL 1 MICROSECOND, INTERVAL 0 SECOND)"
    zoned = in_zone(f"({moment}{finer})::TIMESTAMP", zone) if _NO_ZONE.fullmatch(kind) else f"{moment}{finer}"
    return f"if(isfinite({moment}), {zoned}, NULL)"
