"""Postgres tables.

One statement copies a table into a file on this machine, so that all passes over the file read the same state.

A URL may contain a password, so no value or error of this module contains the URL.
"""

import re
from collections.abc import Hashable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import duckdb

from pitlake.errors import BadInput
from pitlake.lake.mounting.rows import Rows, copy_rows, literal
from pitlake.lake.mounting.tables import choose_table
from pitlake.lake.tables.query import quoted

SCHEMES = ("postgresql", "postgres")
NULL = r"\N"
PATIENCE_SECONDS = 10
MOST_DIGITS = 38
"""The most digits of a DuckDB decimal."""
LEAST_LINE = 2 << 20
"""DuckDB's default limit of a line in bytes. It is raised for longer lines."""
TABLES = """
SELECT CASE WHEN pg_table_is_visible(c.oid) THEN relname ELSE nspname || '.' || relname END, c.oid
FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
AND has_schema_privilege(n.oid, 'USAGE')
"""
COLUMNS = """
SELECT attname, CASE WHEN base.typnamespace = 'pg_catalog'::regnamespace THEN base.typname ELSE '' END,
    base.typtype = 'c' OR base.typcategory = 'A', CASE WHEN type.typtype = 'd' THEN type.typtypmod ELSE atttypmod END
FROM pg_attribute JOIN pg_type type ON type.oid = atttypid
JOIN pg_type base ON base.oid = CASE WHEN type.typtype = 'd' THEN type.typbasetype ELSE type.oid END
WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
"""Selects a column's name, its type (for a domain, the base type), whether that is nested, and its modifier."""
TYPES = {
    "int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT", "oid": "BIGINT", "float4": "FLOAT", "float8": "DOUBLE",
    "bool": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMPTZ", "json": "JSON",
    "jsonb": "JSON", "bytea": "BLOB", "interval": "INTERVAL", "_text": "VARCHAR[]", "_varchar": "VARCHAR[]",
    "_bpchar": "VARCHAR[]", "_float4": "FLOAT[]",
}  # fmt: skip
"""DuckDB's types. Other nested types become JSON, and all others text."""
_PORTS = re.compile(r"[\d,]*")
_SECRETS = ("password", "sslpassword")


@dataclass(frozen=True)
class PostgresTable:
    """A table or view of a Postgres database. name: its name, with the schema unless that is on the search path."""

    url: str = field(repr=False)
    name: str | None

    def state(self) -> Hashable:
        """Return None: Postgres does not say cheaply whether a table has changed."""
        return None

    def read(self, connection: duckdb.DuckDBPyConnection, scratch: Path) -> Rows:
        """Copy the table to `scratch` and return its rows. Raises BadInput."""
        lines = scratch / "lines.csv"
        with _connect(self.url) as database, database.cursor() as cursor, lines.open("wb") as file:
            cursor.execute(TABLES)
            tables = dict(cursor.fetchall())
            name = choose_table(self.name, tables)
            cursor.execute(COLUMNS, (tables[name],))
            columns = [PostgresColumn.of(*facts) for facts in cursor.fetchall()]
            cursor.execute("SELECT %s::regclass::text", (tables[name],))
            ((table,),) = cursor.fetchall()
            texts, longest = ", ".join(column.text for column in columns), _Longest(file)
            copy = f"COPY (SELECT {texts} FROM {table}) TO STDOUT (FORMAT csv, NULL {literal(NULL)})"
            cursor.copy_expert(copy, longest)
            label = f"{database.info.dbname}-{name}"
        kinds = ", ".join(f"{literal(column.name)}: {literal(column.read_as)}" for column in columns)
        # One line has to fit into DuckDB's buffer.
        limit = max(LEAST_LINE, longest.bytes + 1)
        read = (
            f"read_csv({literal(str(lines))}, auto_detect = false, header = false, delim = ',', quote = '\"', "
            f"escape = '\"', new_line = '\\n', nullstr = {literal(NULL)}, allow_quoted_nulls = false, "
            f"max_line_size = {limit}, buffer_size = {2 * limit}, columns = {{{kinds}}})"
        )
        values = ", ".join(f"{column.value} AS {quoted(column.name)}" for column in columns)
        rows = copy_rows(connection, f"(SELECT {values} FROM {read})", scratch, label)
        lines.unlink()
        return rows


@dataclass(frozen=True)
class PostgresColumn:
    """A column.

    text: the Postgres SQL for its text. read_as: the DuckDB type of that text. value: the DuckDB SQL for its value.
    """

    name: str
    text: str
    read_as: str
    value: str

    @classmethod
    def of(cls, name: str, kind: str, is_nested: bool, modifier: int) -> "PostgresColumn":
        text, duck = quoted(name), TYPES.get(kind, "JSON" if is_nested else "VARCHAR")
        if kind == "numeric":
            precision, scale = (modifier - 4) >> 16, ((modifier - 4) & 0x7FF ^ 0x400) - 0x400
            is_decimal = modifier >= 0 and 0 <= scale <= precision <= MOST_DIGITS
            duck = f"DECIMAL({precision}, {scale})" if is_decimal else "DOUBLE"
            text = text if duck == "DOUBLE" else f"nullif({text}, 'NaN')"
        elif duck in ("BLOB", "INTERVAL"):  # a lake refuses them
            text = "NULL"
        elif duck in ("DATE", "TIMESTAMP", "TIMESTAMPTZ"):
            outside = f"{text} < '0001-01-01' OR {text} >= '10000-01-01'"
            text = f"CASE WHEN {outside} THEN '-infinity' ELSE {text} END"
        elif is_nested:
            text = f"to_json({text})"
        if not duck.endswith("[]"):
            return cls(name, text, duck, quoted(name))
        # If the cast were here, the CSV reader would apply it and read the string as DuckDB's own syntax for lists.
        return cls(name, text, "JSON", f"from_json({quoted(name)}, '[\"{duck.removesuffix('[]')}\"]')")


class _Longest:
    """A file that rows are written to, with the length of the longest row."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.bytes = file, 0

    def write(self, line: bytes) -> int:
        self.bytes = max(self.bytes, len(line))
        return self._file.write(line)


def parse_url(url: str, field: str) -> dict[str, str]:
    """Return the options of a connection. Raises BadInput for the field, which never contains a password."""
    import psycopg2
    from psycopg2.extensions import parse_dsn

    unreadable = "is a URL that Postgres can't read", "write special characters in it, such as @ and /, as %40 and %2F"
    try:
        options: dict[str, str] = parse_dsn(url)
    except psycopg2.ProgrammingError:
        raise BadInput(field, *unreadable) from None
    # Parts of an unescaped password end up in the other fields of the URL, which errors would show.
    is_split = any("@" in options.get(part, "") for part in ("host", "dbname"))
    if is_split or not _PORTS.fullmatch(options.get("port", "")):
        raise BadInput(field, *unreadable)
    return options


def first_line(error: Exception, options: Mapping[str, str]) -> str:
    """Return the first line of a Postgres error, without the secrets of the connection's options."""
    line = next(iter(str(error).splitlines()), type(error).__name__)
    for secret in filter(None, map(options.get, _SECRETS)):
        line = line.replace(secret, "[redacted]")
    return line


@contextmanager
def _connect(url: str) -> Iterator[Any]:
    """Connect for a block, in a read-only transaction. Raises BadInput, which never contains a password."""
    import psycopg2

    options = parse_url(url, "the table")
    defaults = {"connect_timeout": PATIENCE_SECONDS, "application_name": "pitlake"}
    try:
        with closing(psycopg2.connect(**(defaults | options))) as database:
            database.set_session(isolation_level="REPEATABLE READ", readonly=True)
            database.set_client_encoding("UTF8")
            with database.cursor() as cursor:
                cursor.execute("SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET extra_float_digits = 1")
            yield database
    except psycopg2.Error as error:
        next_step = "check that the server runs, and give the password in the URL, PGPASSWORD or ~/.pgpass"
        raise BadInput("the table", f"can't be read from Postgres: {first_line(error, options)}", next_step) from None
