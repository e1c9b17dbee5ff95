"""Sources that can be mounted, opened in DuckDB: files by their suffix, and frames. Detects columns and their types."""

import hashlib
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from pitlake import machine
from pitlake.errors import BadInput
from pitlake.lake.storage.parallel import workers
from pitlake.lake.tables.query import CONFIG, quoted

ROWS = "source"
"""The name of the opened table's rows."""
ROW = "row"
MEMORY = "1GB"
READERS = {
    ".parquet": "read_parquet({files}, union_by_name = true)",
    ".csv": "read_csv({files}, sample_size = -1, dateformat = '%Y-%m-%d', union_by_name = true{types})",
    ".jsonl": "read_json({files}, format = 'newline_delimited', sample_size = -1, dateformat = '%Y-%m-%d', "
    "union_by_name = true{types})",
}
TYPES_OF = {".csv": "types", ".jsonl": "columns"}
"""The name of a text reader's option for the columns' types."""
ENDINGS = {".pq": ".parquet", ".tsv": ".csv", ".ndjson": ".jsonl"}
_WHOLE = re.compile(r"(TINY|SMALL|BIG|U|UTINY|USMALL|UBIG|HUGE|UHUGE)?(INT|INTEGER)")
_NO_ZONE = re.compile(r"TIMESTAMP(_S|_MS|_NS)?")


@dataclass(frozen=True)
class Source:
    """An opened table. label: its name for people; digest: of its bytes, "" for a frame; types: DuckDB's, by column;
    rows: the name of its rows in SQL.
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


@contextmanager
def opened(table: Any, *, with_names: bool = False) -> Iterator[Source]:
    """Open a path or a frame for a block. with_names: whether each row gets a unique name, in the column ROW.

    Raises BadInput if it can't be read, MachineExhausted if there is no space.
    """
    with tempfile.TemporaryDirectory(prefix="pitlake-mount-") as scratch:
        options = {"memory_limit": MEMORY, "temp_directory": scratch, "threads": str(workers())}
        connection = duckdb.connect(":memory:", config={**CONFIG, **options})
        try:
            is_path = isinstance(table, (str, Path))
            source = _of_path(connection, str(table)) if is_path else _of_frame(connection, table)
            yield _with_names(source) if with_names else source
        except duckdb.Error as error:
            if shortage := machine.exhausted(error, "the table", "read by DuckDB"):
                raise shortage from None
            raise BadInput("the table", f"can't be read: {str(error).splitlines()[0]}", "see what is in it") from error
        finally:
            connection.close()


def _with_names(source: Source) -> Source:
    """Name each row by a hash of its content, and equal rows by their number. A name does not depend on other rows."""
    if ROW in source.types:
        raise BadInput("columns", f"{ROW} identifies rows", "rename the column, or give a key")
    content = f"ROW({', '.join(map(quoted, source.types))})"
    number = f"row_number() OVER (PARTITION BY {content})"
    source.connection.execute(
        f"CREATE VIEW named AS SELECT md5({content}::VARCHAR) || '-' || {number} AS {ROW}, * FROM {source.rows}"
    )
    return replace(source, types={ROW: "VARCHAR", **source.types}, rows="named")


def _of_frame(connection: duckdb.DuckDBPyConnection, frame: Any) -> Source:
    if not hasattr(frame, "__arrow_c_stream__"):
        problem = f"a {type(frame).__name__} is not a table"
        raise BadInput("the table", problem, "give a path, or a frame of Arrow, polars or pandas")
    try:
        rows = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        problem = f"is not a frame that Arrow can read: {error}"
        raise BadInput("the table", problem, "give columns of one type each") from error
    connection.register(ROWS, rows)
    return Source(connection, f"a frame of {type(frame).__module__.partition('.')[0]}", "", _types(connection, ROWS))


def _of_path(connection: duckdb.DuckDBPyConnection, path: str) -> Source:
    files = sorted(glob(path)) if not Path(path).is_file() else [path]  # noqa: PTH207 - patterns with a folder in them
    files = [file for file in files if Path(file).is_file()]
    if not files:
        raise BadInput("the table", f"there is no file {path}", "give a path, or a pattern such as 'days/*.parquet'")
    ending, spelled = _ending(files), "[" + ", ".join(map(_literal, files)) + "]"
    types = _types(connection, READERS[ending].format(files=spelled, types=""))
    option = ""
    if ending in TYPES_OF:
        # Texts of time are parsed here, each with its offset, which DuckDB drops where some of a column have none.
        types = {name: "VARCHAR" if kind.startswith("TIME") else kind for name, kind in types.items()}
        spelled_types = ", ".join(f"{_literal(name)}: {_literal(kind)}" for name, kind in types.items())
        option = f", {TYPES_OF[ending]} = {{{spelled_types}}}"
    connection.execute(f"CREATE VIEW {ROWS} AS SELECT * FROM {READERS[ending].format(files=spelled, types=option)}")
    return Source(connection, Path(path).name, _digest(files), types)


def _ending(files: list[str]) -> str:
    endings = {Path(file.removesuffix(".gz")).suffix.lower() for file in files}
    spellings = {ENDINGS.get(ending, ending) for ending in endings}
    if len(spellings) != 1 or not spellings <= READERS.keys():
        names = ", ".join((*READERS, *ENDINGS))
        problem = f"files that end in {' and '.join(sorted(endings))}"
        raise BadInput("the table", problem, f"give files that end in one of {names}")
    return spellings.pop()


def _types(connection: duckdb.DuckDBPyConnection, rows: str) -> dict[str, str]:
    relation = connection.sql(f"SELECT * FROM {rows} LIMIT 0")
    return {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}


def _digest(files: list[str]) -> str:
    digests = []
    for file in files:
        with Path(file).open("rb") as content:
            digests.append(hashlib.file_digest(content, "sha256").hexdigest())
    return digests[0] if len(files) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def instant_of_text(text: str, zone: str) -> str:
    """Return SQL for the instant of a text: a timestamp (without offset in a zone), or the end of a day; null for any
    other text.

    Fractions of a microsecond are rounded up, so that nothing is known early.
    """
    moment = r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?"
    cut = rf"regexp_replace({text}, '(\.\d{{6}})\d+', '\1')"
    finer = rf"if(regexp_matches({text}, '\.\d{{6}}\d*[1-9]'), INTERVAL 1 MICROSECOND, INTERVAL 0 SECOND)"
    return (
        f"CASE WHEN regexp_full_match({text}, '{moment}(Z|[+-]\\d{{2}}:?\\d{{2}})') "
        f"THEN try_cast({cut} AS TIMESTAMPTZ) + {finer} "
        f"WHEN regexp_full_match({text}, '{moment}') "
        f"THEN timezone({_literal(zone)}, try_cast({cut} AS TIMESTAMP)) + {finer} "
        rf"WHEN regexp_full_match({text}, '\d{{4}}-\d{{2}}-\d{{2}}') "
        f"THEN {end_of_day(f'try_cast({text} AS DATE)', zone)} END"
    )


def without_zone(text: str) -> str:
    """Return SQL for whether a text is a timestamp without a zone."""
    return rf"regexp_full_match({text}, '\d{{4}}-\d{{2}}-\d{{2}}[T ]\d{{2}}:\d{{2}}(:\d{{2}}(\.\d{{1,9}})?)?')"


def end_of_day(day: str, zone: str) -> str:
    """Return SQL for the end of a day in a zone: the start of the next one."""
    return f"timezone({_literal(zone)}, ({day} + 1)::TIMESTAMP)"


def instant(source: Source, column: str, zone: str) -> str:
    """Return SQL for the instant in a time column; null if there is none. Raises BadInput for other columns."""
    name, kind = quoted(column), source.types[column]
    if kind == "VARCHAR":
        return instant_of_text(f"trim({name})", zone)
    if kind == "DATE":
        return f"if(isfinite({name}), {end_of_day(name, zone)}, NULL)"
    if not kind.startswith("TIMESTAMP"):
        raise BadInput(
            "available_at", f"{column} is {kind}, which is not a time", "name a column of dates or timestamps"
        )
    moment = name
    if kind == "TIMESTAMP_NS":
        moment = f"({name}::TIMESTAMP + if(epoch_ns({name}) % 1000 = 0, INTERVAL 0 SECOND, INTERVAL 1 MICROSECOND))"
    zoned = f"timezone({_literal(zone)}, {moment}::TIMESTAMP)" if _NO_ZONE.fullmatch(kind) else moment
    return f"if(isfinite({name}), {zoned}, NULL)"
