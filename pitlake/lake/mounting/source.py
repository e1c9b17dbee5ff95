"""Sources that can be mounted, opened in DuckDB: files, tables and frames. Detects columns and their types."""

import re
import sys
import tempfile
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timezone
from pathlib import Path
from typing import Any, Protocol

import duckdb
import pyarrow as pa

from pitlake import machine
from pitlake.errors import BadInput
from pitlake.lake.mounting import iceberg, postgres
from pitlake.lake.mounting.files import IsText, LocalFiles, never
from pitlake.lake.mounting.iceberg import IcebergTable
from pitlake.lake.mounting.postgres import PostgresTable
from pitlake.lake.mounting.rows import Rows, types_of, zones_of
from pitlake.lake.mounting.tables import Delta, DuckDBTable, is_duckdb
from pitlake.lake.storage.parallel import workers
from pitlake.lake.tables.query import CONFIG, quoted
from pitlake.times import ISO_PATTERN, read
from pitlake.times.sql import ColumnForm, in_sql, part

ROWS = "source"
"""The name of the opened table's rows."""
ROW = "row"
MEMORY = "1GB"
EXAMPLES, LONGEST_EXAMPLE = 3, 40
LOOKED_AT = 1000
_WHOLE = re.compile(r"(TINY|SMALL|BIG|U|UTINY|USMALL|UBIG|HUGE|UHUGE)?(INT|INTEGER)|DECIMAL\(\d+,0\)")
REAL = ("FLOAT", "DOUBLE")
_NUMBERS = {"int": "BIGINT", "float": "DOUBLE"}
NAIVE = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
"""Types of timestamps without a zone."""


@dataclass(frozen=True)
class Source:
    """An opened table.

    label: its name for people. digest: the hash of its bytes, "" for a frame. types: DuckDB's types by column. rows:
    the SQL name of its rows. zones: the zones of columns, if known.
    """

    connection: duckdb.DuckDBPyConnection
    label: str
    digest: str
    types: dict[str, str]
    rows: str = ROWS
    zones: Mapping[str, str] = field(default_factory=dict)
    _surveys: dict[tuple[str, ColumnForm, int | None], "Survey"] = field(default_factory=dict, init=False, repr=False)

    def type_of(self, column: str) -> str:
        """Return the lake's type for a column. Raises BadInput for a column that can't be stored."""
        kind = self.types[column]
        if kind == "VARCHAR" and self.resembles_times(column, LOOKED_AT):
            form = ColumnForm("VARCHAR", has_unset=False)
            surveys = (self.survey(column, form, most) for most in (LOOKED_AT, None))
            if all(each.has_clock_or_midnight and not each.days and not each.unreadable for each in surveys):
                kind = "TIMESTAMP"
        if _WHOLE.fullmatch(kind):
            return "int"
        if kind in REAL or kind.startswith("DECIMAL"):
            return "float"
        if kind.startswith("TIMESTAMP"):
            # Days that a program stores as midnights need no zone.
            survey = self.survey(column, ColumnForm(self.types[column], has_unset=False)) if kind in NAIVE else None
            return "date" if survey and survey.midnights and not survey.has_clock else "instant"
        plain = {"BOOLEAN": "bool", "DATE": "date", "VARCHAR[]": "strings", "FLOAT[]": "vector"}
        if kind in plain:
            return plain[kind]
        if kind.startswith(("BLOB", "INTERVAL", "BIT")):
            raise BadInput("columns", f"{column} is {kind}, which a lake can't hold", "leave it out of the table")
        nested = kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION", "JSON"))
        return "json" if nested else "string"

    def is_finer_than_float(self, column: str) -> bool:
        """Return whether a column has decimals of more digits than a float can distinguish."""
        digits = re.fullmatch(r"DECIMAL\((\d+),[1-9]\d*\)", self.types[column])
        return digits is not None and int(digits[1]) > sys.float_info.dig

    def survey(self, column: str, form: ColumnForm, most: int | None = None, times: str = "") -> "Survey":
        """Count the kinds of formats in a column. most: the number of values to read (default: all). times: the SQL
        name of rows that already have the column's times.
        """
        question = (column, form, most)
        if question not in self._surveys:
            instant, end, clock, unset, no_zone = (
                part(name, column) for name in ("instant", "end", "has_clock", "is_unset", "lacks_zone")
            )
            conditions = (
                f"NOT {clock} AND {end} IS NOT NULL",
                f"{clock} AND {end} IS NOT NULL AND NOT {no_zone}",
                f"{clock} AND {instant} IS NOT NULL AND ({end} IS NULL OR {no_zone})",
                no_zone,
                unset,
                f"{instant} IS NULL AND NOT {unset}",
            )
            counts = ", ".join(f"count(*) FILTER ({condition})" for condition in conditions)
            rows = times or in_sql(self._values(column, most), {column: form})
            text = f"SELECT {counts} FROM {rows} WHERE {quoted(column)} IS NOT NULL"
            self._surveys[question] = Survey(*self.connection.execute(text).fetchall()[0])
        return self._surveys[question]

    def resembles_times(self, column: str, most: int) -> bool:
        """Return whether the first values of a text column look like days or times, and there are any."""
        is_alike = f"regexp_full_match(trim({quoted(column)}), '{ISO_PATTERN}')"
        text = f"SELECT coalesce(bool_and({is_alike}), false) FROM {self._values(column, most)}"
        return bool(self.connection.execute(text).fetchall()[0][0])

    def _values(self, column: str, most: int | None) -> str:
        limit = f" LIMIT {most}" if most else ""
        return f"(SELECT {quoted(column)} FROM {self.rows} WHERE {quoted(column)} IS NOT NULL{limit})"

    def examples(self, column: str) -> str:
        """Return the first values of a column for an error message."""
        query = f"SELECT DISTINCT {quoted(column)} FROM {self.rows} WHERE {quoted(column)} IS NOT NULL LIMIT {EXAMPLES}"
        return ", ".join(str(value)[:LONGEST_EXAMPLE] for (value,) in self.connection.execute(query).fetchall())


@dataclass(frozen=True)
class Survey:
    """Counts of a column's days, midnights, other clock times, times without a zone, unset and unreadable values."""

    days: int
    midnights: int
    clock_times: int
    without_zone: int
    unset: int
    unreadable: int

    @property
    def has_clock(self) -> bool:
        return self.clock_times > 0

    @property
    def has_clock_or_midnight(self) -> bool:
        return self.midnights + self.clock_times > 0


class Origin(Protocol):
    """The location of a table that can be mounted."""

    def state(self) -> Hashable:
        """Return a value that changes when the table changes; None if only reading the table shows a change."""
        ...

    def read(self, connection: duckdb.DuckDBPyConnection, scratch: Path) -> Rows:
        """Return the table's rows, copied to `scratch` if they can't be read where they are. Raises BadInput."""
        ...


def find_origin(place: str, name: str | None = None, is_text: IsText = never) -> Origin:
    """Return the location of a table. name: the table's name in a database. is_text: see `IsText`. Raises BadInput if
    it can't be mounted.
    """
    scheme, is_url, rest = place.partition("://")
    if is_url and scheme in postgres.SCHEMES:
        return PostgresTable(place, name)
    if is_url and scheme == iceberg.SCHEME:
        return IcebergTable(place, name)
    if is_url and (scheme != "s3" or "@" in rest or not rest.partition("/")[0]):
        problem = "s3:// without a plain bucket" if scheme == "s3" else f"{scheme}:// can't be mounted"
        raise BadInput(
            "the table", problem, "give a path, s3://bucket/key, postgresql://host/database or iceberg://catalog"
        )
    if not is_url and is_duckdb(place):
        return DuckDBTable(place, name)
    if name is not None:
        raise BadInput("table", f"{Path(place).name} is not a database, so it has no table {name!r}", "leave it out")
    if is_url:
        from pitlake.lake.mounting.objects import find_objects

        return find_objects(place, is_text)
    tables = (Delta(place), IcebergTable(place, None))
    return next((table for table in tables if table.exists()), LocalFiles(place, is_text))


@contextmanager
def opened(table: Any, *, named_by: Mapping[str, str] | None = None, is_text: IsText = never) -> Iterator[Source]:
    """Open a table for a block: a path, a URL, a pair of one of these and the name of a table, or a frame.

    named_by: the columns, with their types in the lake, from which each row gets a unique name in the column ROW; empty
    for all columns, None for no names. is_text: see `IsText`. Raises BadInput if it can't be read or has no rows,
    MachineExhausted if there is no space.
    """
    with tempfile.TemporaryDirectory(prefix="pitlake-mount-") as scratch:
        options = {"memory_limit": MEMORY, "temp_directory": scratch, "threads": str(workers())}
        connection = duckdb.connect(":memory:", config={**CONFIG, **options})
        try:
            place, name = table if isinstance(table, tuple) and len(table) == 2 else (table, None)
            if isinstance(place, (str, Path)):
                rows = find_origin(str(place), name, is_text).read(connection, Path(scratch))
            else:
                frame = _without_periods(table)
                if not hasattr(frame, "__arrow_c_stream__"):
                    problem = f"a {type(frame).__name__} is not a table"
                    raise BadInput("the table", problem, "give a path, or a frame of Arrow, polars or pandas")
                try:
                    arrow_table = pa.table(frame)
                except (pa.ArrowException, TypeError, ValueError) as error:
                    problem = f"is not a frame that Arrow can read: {error}"
                    raise BadInput("the table", problem, "each column needs values of one type") from error
                connection.register("frame", arrow_table)
                label = f"a frame of {type(frame).__module__.partition('.')[0]}"
                rows = Rows("frame", label, zones=zones_of(arrow_table.schema))
            enums = [name for name, kind in types_of(connection, rows.sql).items() if kind.startswith("ENUM(")]
            as_texts = ", ".join(f"{quoted(name)}::VARCHAR AS {quoted(name)}" for name in enums)
            replaced = f" REPLACE ({as_texts})" if enums else ""
            connection.execute(f"CREATE VIEW {ROWS} AS SELECT *{replaced} FROM {rows.sql}")
            if not connection.execute(f"SELECT 1 FROM {ROWS} LIMIT 1").fetchall():
                raise BadInput("the table", "has no rows", "mount it once it has some")
            source = Source(connection, rows.label, rows.digest, types_of(connection, ROWS), zones=rows.zones)
            yield source if named_by is None else _with_names(source, named_by)
        except duckdb.Error as error:
            if shortage := machine.exhausted(error, "the table", "read by DuckDB"):
                raise shortage from None
            # For a CSV line, the second line of the message says why.
            lines = str(error).partition("\n\n")[0].splitlines()
            reason = " ".join([line for line in lines if not line.startswith("Original Line")][:2])
            raise BadInput("the table", f"can't be read: {reason}", "check its content") from error
        finally:
            connection.close()


def _with_names(source: Source, named_by: Mapping[str, str]) -> Source:
    """Name each row by a hash of its content, and number rows with equal content.

    A name does not depend on rows with other content, on other columns, on their order, or on how numbers are stored.
    """
    if ROW in source.types:
        if named_by:
            return source
        raise BadInput("columns", f"{ROW} identifies rows", "rename the column, or give a key")
    stored = {name: _NUMBERS.get(kind) for name, kind in named_by.items() if name in source.types}
    stored = stored or {
        name: "DOUBLE" if kind in REAL or (kind.startswith("DECIMAL") and not _WHOLE.fullmatch(kind)) else None
        for name, kind in source.types.items()
    }
    values = (f"try_cast({quoted(name)} AS {kind})" if kind else quoted(name) for name, kind in stored.items())
    content = f"ROW({', '.join(values)})"
    number = f"row_number() OVER (PARTITION BY {content})"
    source.connection.execute(
        f"CREATE VIEW named AS SELECT md5({content}::VARCHAR) || '-' || {number} AS {ROW}, * FROM {source.rows}"
    )
    return replace(source, types={ROW: "VARCHAR", **source.types}, rows="named")


def _without_periods(frame: Any) -> Any:
    """Replace the periods in a pandas frame by their last day, or by the instant after a period within a day."""
    if type(frame).__module__.partition(".")[0] != "pandas" or not hasattr(frame, "columns"):
        return frame
    for name, kind in frame.dtypes.items():
        if hasattr(kind, "freq") and hasattr(kind, "na_value"):  # pandas' PeriodDtype
            values = [None if each != each else read(each, zone=timezone.utc) for each in frame[name].astype(object)]
            in_days = all(each is None or not each.has_clock for each in values)
            frame = frame.assign(**{
                str(name): [
                    None if each is None else each.day if in_days else each.instant.replace(tzinfo=None)
                    for each in values
                ]
            })  # fmt: skip
    return frame
