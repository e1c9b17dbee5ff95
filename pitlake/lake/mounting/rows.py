"""Rows that DuckDB can read, and helpers that write DuckDB's SQL."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa

from pitlake.errors import BadInput


@dataclass(frozen=True)
class Rows:
    """The rows of a source.

    sql: a FROM expression. label: the source's name for people, without secrets. digest: the hash of the files' bytes,
    "" for a table. zones: the zones of timestamp columns with a zone, which DuckDB does not keep.
    """

    sql: str
    label: str
    digest: str = ""
    zones: Mapping[str, str] = field(default_factory=dict)


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def types_of(connection: duckdb.DuckDBPyConnection, rows: str) -> dict[str, str]:
    """Return DuckDB's types of a FROM expression, by column."""
    relation = connection.sql(f"SELECT * FROM {rows} LIMIT 0")
    return {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}


def copy_rows(connection: duckdb.DuckDBPyConnection, rows: str, scratch: Path, label: str) -> Rows:
    """Copy rows that are slow to read or can be read only once, so that each pass reads the same rows.

    A DuckDB file keeps every type; Parquet would round integers of more than 64 bits.
    """
    connection.execute(f"ATTACH {literal(str(scratch / 'copy.duckdb'))} AS copied")
    connection.execute(f"CREATE TABLE copied.own AS SELECT * FROM {rows}")
    return Rows("copied.own", label)


def zones_of(schema: pa.Schema) -> dict[str, str]:
    """Return the zones of an Arrow schema's timestamps. Raises BadInput for pandas periods, which are numbers."""
    for field_ in schema:
        extension = (field_.metadata or {}).get(b"ARROW:extension:name", b"").decode()
        if "pandas.period" in (extension, getattr(field_.type, "extension_name", "")):
            problem = f"{field_.name} has pandas' periods, which a file stores as numbers"
            raise BadInput("columns", problem, "write their last days, with .dt.end_time.dt.date")
    zones = {column.name: column.type.tz for column in schema if pa.types.is_timestamp(column.type) and column.type.tz}
    return {name: zone for name, zone in zones.items() if _is_zone(zone)}


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return False
    return True
