"""DuckDB: a view with a WHERE clause in its usual forms, and a copy that ends at T in a locked connection."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

import duckdb

from asofbench.adapters.base import Rewritten, Rows, Unable, naive
from asofbench.model import Question, read

FIRST_SIGHT = """
CASE WHEN available_at IS NULL OR loaded_at = min(loaded_at) OVER (PARTITION BY entity, item)
THEN available_at ELSE greatest(available_at, loaded_at) END"""
# The date of a row, and its comparison with an instant.
STAMPS = {
    "event": ("event", "{at}"),
    "where": ("available_at", "{at}"),
    "null": ("coalesce(available_at, TIMESTAMP '1900-01-01')", "{at}"),
    "day": ("CAST(available_at AS DATE)", "CAST({at} AS DATE)"),
    "sight": (FIRST_SIGHT, "{at}"),
    "both": ("CASE WHEN available_at IS NOT NULL THEN greatest(available_at, loaded_at) END", "{at}"),
}
COLUMNS = {
    "entity": "VARCHAR",
    "item": "VARCHAR",
    "event": "TIMESTAMP",
    "available_at": "TIMESTAMP",
    "loaded_at": "TIMESTAMP",
    "value": "DOUBLE",
    "text": "VARCHAR",
}


NEWEST = """
SELECT * EXCLUDE stamp FROM history
QUALIFY row_number() OVER (PARTITION BY entity, item ORDER BY {newest} DESC, loaded_at DESC) = 1"""


OPTIONAL = """
CREATE MACRO history(as_of := NULL) AS TABLE
SELECT *, {stamp} AS stamp FROM facts WHERE as_of IS NULL OR {stamp} <= as_of;
CREATE MACRO known(as_of := NULL) AS TABLE """ + NEWEST.replace("history", "history(as_of := as_of)")


class Duck(Rewritten):
    """options: stamp (of STAMPS), cut (copy the visible rows instead of creating a view), optional (instead of a view,
    create a macro whose instant may be left out), locked (as DuckDB's documentation says).
    """

    connection: duckdb.DuckDBPyConnection | None = None

    def write(self, rows: Rows) -> None:
        """Write one Parquet file, from which every connection creates its table."""
        self.file = self.folder / "facts.parquet"
        columns = COLUMNS if self.careful else {**COLUMNS, "extra": "VARCHAR"}
        typed = [{name: naive(value) for name, value in self.typed(row).items()} for row in rows]
        lines = self.folder / "rows.json"
        lines.write_text("".join(json.dumps(row, default=str) + "\n" for row in typed))
        with duckdb.connect(config={"threads": 1}) as making:
            read = f"read_json('{lines}', columns = {columns}, format = 'newline_delimited')"
            making.execute(f"COPY (FROM {read}) TO '{self.file}' (FORMAT parquet)")
        lines.unlink()
        self.at = ""

    def ask(self, question: Question) -> Any:
        """Ask through a connection that has the view `known`, and `history` with all revisions."""
        if question.as_of != self.at:
            self.close()
            self.connection, self.at = self.opened(read(question.as_of)), question.as_of
        if question.kind == "hostile":
            question = attacked(self.sql, question, self.names())
            self.close()
            self.connection = self.opened(read(question.as_of))
        return answer(self.sql, question, self.names())

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Return the rows of the last statement as JSON-compatible values."""
        result_rows = self.connection.execute(text).fetchall() if self.connection else []
        return [tuple(shown(cell) for cell in row) for row in result_rows]

    def names(self) -> dict[str, str]:
        """Return the names that statements may use."""
        base = "known" if self.options.get("cut") else "facts"
        newest = NEWEST.format(newest=self.newest)
        names = {"view": "known", "base": base, "file": str(self.file), "folder": str(self.folder)}
        names["bounded"] = f"({newest.replace('QUALIFY', 'WHERE loaded_at <= {by} QUALIFY')})"
        if self.options.get("optional"):
            _, instant = self.bound(read(self.at))
            names |= {"view": f"known({instant})", "without": "known()", "lookup": "known({at})"}
            names["bounded"] = names["bounded"].replace("FROM history", f"FROM history({instant})")
        return names

    def bound(self, at: datetime) -> tuple[str, str]:
        """Return the SQL of a row's date, and of its limit."""
        stamp, compared = STAMPS[self.options["stamp"]]
        return stamp, compared.format(at=f"TIMESTAMP '{at:%Y-%m-%d %H:%M:%S.%f}'")

    def visible(self, at: datetime, source: str) -> str:
        """Return the SQL of all rows up to T; a first-sight rule is a window, which a WHERE clause may not contain."""
        stamp, instant = self.bound(at)
        limit = f"QUALIFY stamp <= {instant}" if self.options["stamp"] == "sight" else f"WHERE {stamp} <= {instant}"
        return f"SELECT *, {stamp} AS stamp FROM {source} {limit}"

    @property
    def newest(self) -> str:
        """The column whose latest value is current: a row's date, or what it is compared by."""
        return "available_at" if self.options["stamp"] in ("both", "sight") else "stamp"

    def opened(self, at: datetime) -> duckdb.DuckDBPyConnection:
        """Return a connection as the user would get it."""
        connection = duckdb.connect(config={"threads": 1})
        if self.options.get("optional"):
            stamp, _ = self.bound(at)
            connection.execute(f"CREATE TABLE facts AS FROM read_parquet('{self.file}')")
            connection.execute(OPTIONAL.format(stamp=stamp, newest=self.newest))
            return connection
        kind, source = "VIEW", "facts"
        if self.options.get("cut"):
            kind, source = "TABLE", f"read_parquet('{self.file}')"
        else:
            connection.execute(f"CREATE TABLE facts AS FROM read_parquet('{self.file}')")
        visible = self.visible(at, source)
        connection.execute(f"CREATE {kind} history AS {visible}")
        connection.execute(f"CREATE {kind} known AS {NEWEST.format(newest=self.newest)}")
        if self.options.get("locked"):
            connection.execute("SET enable_external_access = false; SET lock_configuration = true")
        return connection

    def close(self) -> None:
        """The connection."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def attacked(sql: Any, question: Question, names: dict[str, str]) -> Question:
    """Run a hostile statement in this session, whatever comes of it, and return what to ask the next session."""
    with suppress(Exception):
        sql(question.statement.format(**names, entity=question.entity))
    return replace(question, kind="rows")


def answer(sql: Any, question: Question, names: dict[str, str]) -> Any:
    """Ask a question as SQL on `known` and `history`, through the given function."""
    where = f"WHERE entity = '{question.entity}'"
    if question.kind in ("rows", "forgotten"):
        view = names.get("without", names["view"]) if question.kind == "forgotten" else names["view"]
        if question.loaded_by:
            if "bounded" not in names:
                raise Unable("loaded_by")
            view = names["bounded"].format(by=f"TIMESTAMP '{read(question.loaded_by):%Y-%m-%d %H:%M:%S.%f}'")
        rows = sql(f"SELECT * FROM {view} {where}")
        return by_item(rows, sql(f"SELECT column_name FROM (DESCRIBE SELECT * FROM {view})"))
    if question.kind == "figures":
        members = f"SELECT item FROM {names['view']} {where} AND value = 1"
        term = f"item = '{question.term}' AND entity IN ({members})"
        return {row[0]: row[1] for row in sql(f"SELECT entity, value FROM {names['view']} WHERE {term}")}
    if question.kind == "adjusted":
        ratio = (
            f"SELECT coalesce(product(value), 1) FROM {names['view']} {where} AND starts_with(item, '{question.term}')"
        )
        figures = f"SELECT item, value / ({ratio}) FROM {names['view']} {where}"
        return {row[0]: row[1] for row in sql(f"{figures} AND NOT starts_with(item, '{question.term}')")}
    if question.kind == "members":
        return sorted(row[0] for row in sql(f"SELECT item FROM {names['view']} {where} AND value = 1"))
    if question.kind == "aggregate":
        return sql(f"SELECT {question.fn}(value) FROM {names['view']} {where}")[0][0]
    if question.kind == "frequency":
        return sql(f"SELECT count(*) FROM {names['view']} WHERE contains(text, '{question.term}')")[0][0]
    if question.kind in ("join", "missing"):
        return [_joined(sql, names, entity, item, at) for entity, item, at in question.spine]
    statement = question.statement.format(**names, entity=question.entity)
    return [list(row) for row in sql(statement)]


def _joined(sql: Any, names: dict[str, str], entity: str, item: str, at: str) -> Any:
    """names may give the names of the revisions, their timestamp and its type, or a lookup that takes an instant."""
    kind = names.get("type", "TIMESTAMP")
    instant = f"{kind} '{read(at):%Y-%m-%d %H:%M:%S.%f}'" if at else f"CAST(NULL AS {kind})"
    if "lookup" in names:
        view = names["lookup"].format(at=instant)
        rows = sql(f"SELECT value FROM {view} WHERE entity = '{entity}' AND item = '{item}'")
        return rows[0][0] if rows else None
    history, stamp = names.get("history", "history"), names.get("stamp", "stamp")
    rows = sql(
        f"SELECT h.value FROM (SELECT '{entity}' AS entity, '{item}' AS item, {instant} AS at) s"
        f" ASOF LEFT JOIN {history} h ON s.entity = h.entity AND s.item = h.item AND s.at >= h.{stamp}"
    )
    return rows[0][0]


def by_item(rows: list[tuple[Any, ...]], columns: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """Return rows in the form of `rows`: each item's value, text and extra columns."""
    names = [column[0] for column in columns]
    newest_rows = {}
    for row in rows:
        named_row = dict(zip(names, row, strict=True))
        first = [named_row.pop(name) for name in ("entity", "item", "value", "text")]
        newest_rows[first[1]] = [*first[2:], *(value for value in named_row.values() if value is not None)]
    return newest_rows


def shown(cell: Any) -> Any:
    """Return a cell as a JSON-compatible value."""
    return cell if isinstance(cell, int | float | str | bool | None) else str(cell)
