"""Rows that DuckDB can read, and helpers that write DuckDB's SQL."""

from dataclasses import dataclass

import duckdb


@dataclass(frozen=True)
class Rows:
    """The rows of a source.

    sql: a FROM expression; label: the source's name for people, without secrets; digest: the hash of the files' bytes,
    "" for a table.
    """

    sql: str
    label: str
    digest: str = ""


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def types_of(connection: duckdb.DuckDBPyConnection, rows: str) -> dict[str, str]:
    """Return DuckDB's types of a FROM expression, by column."""
    relation = connection.sql(f"SELECT * FROM {rows} LIMIT 0")
    return {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}
