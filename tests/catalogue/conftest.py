"""A small world in plain DuckDB: a session's tables, views and macros over the rows that a test gives."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import duckdb
import pyarrow as pa
import pytest

from pitlake.contract import Dataset
from pitlake.datasets import all_datasets, get
from pitlake.questions import catalogue
from pitlake.session.sql import statements
from pitlake.tombstones import newest_first

MISSING = {
    "string": "", "json": "[]", "int": 0, "float": 0.0, "bool": False, "date": "2024-01-02", "vector": [1.0],
    "strings": [],
}  # fmt: skip


class World:
    """A session's views as of an instant. Rows give only the columns that matter; others are null or have a default.
    Without names, the datasets are those with rows and those that a query reads. polled: the days that polls of
    dividends and of splits cover.
    """

    polled: ClassVar[dict[str, list[tuple[str, str]]]] = {
        name: [("0001-01-01", "9999-12-31")] for name in ("dividends", "splits")
    }

    def __init__(
        self, as_of: str, rows: Mapping[str, Iterable[Mapping[str, Any]]], names: Iterable[str] | None = None
    ) -> None:
        self.as_of, self.rows, self.is_named = as_of, rows, names is not None
        self.datasets: dict[str, Dataset] = {}
        self.macros: list[str] = []
        self.connection = duckdb.connect(config={"python_enable_replacements": "false"})
        self.connection.execute("SET TimeZone = 'UTC'; SET threads = 1; CREATE SCHEMA lake")
        self.connection.execute(f"CREATE MACRO as_of() AS TIMESTAMPTZ '{as_of}'")
        self.add(rows if names is None else names)

    def add(self, names: Iterable[str]) -> None:
        """Add datasets with their rows, views and macros."""
        new = [get(name) for name in names if name not in self.datasets]
        self.datasets |= {dataset.name: dataset for dataset in new}
        for dataset in new:
            self.load(dataset, [row for row in self.rows.get(dataset.name, ()) if row["available_at"] <= self.as_of])
            self.connection.execute(statements.revisions(statements.Ready(dataset, "")))
            self.connection.execute(superseded(dataset))
        ready = [statements.Ready(dataset, statements.agent_view(dataset)) for dataset in new]
        views = [statements.newest(each) if each.is_plain else each.view for each in ready]
        macros = [text for text in catalogue.session_macros(self.datasets) if text not in self.macros]
        for text in (*views, *macros):
            self.connection.execute(text)
        self.macros += macros

    def load(self, dataset: Dataset, rows: list[Mapping[str, Any]]) -> None:
        """Create a dataset's table and insert these rows."""
        columns = (*dataset.agent_columns, "content_hash")
        schema = pa.schema([dataset.arrow_schema.field(name) for name in columns])
        self.connection.register("empty", schema.empty_table())
        self.connection.execute(f"CREATE TABLE lake.{dataset.name} AS FROM empty")
        for number, row in enumerate(rows):
            outcome = {"evidence": f"made:{number}", "content_hash": number.to_bytes(2, "big")}
            full = plain_row(dataset) | outcome | dict(row)
            marks = ", ".join(f"${name}" for name in full)
            self.connection.execute(f"INSERT INTO lake.{dataset.name} ({', '.join(full)}) VALUES ({marks})", full)

    def run(self, name: str, **values: Any) -> list[dict[str, Any]]:
        """Return the rows of a catalogue query."""
        query = catalogue.get(name)
        if not self.is_named:
            self.add(query.reads)
        bound = plain(query.bind(values))
        polled = {catalogue.POLLED: json.dumps(self.polled)} if catalogue.POLLED in bound else {}
        return self.ask(query.sql, bound | polled)

    def ask(self, sql: str, values: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Return the rows of any SQL."""
        answer = self.connection.execute(sql, dict(values) if values else None)
        names = [column[0] for column in answer.description]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


def plain(bound: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of `bind`, with the ticker itself as the company."""
    if catalogue.COMPANY not in bound:
        return dict(bound)
    return {name: value for name, value in bound.items() if name != "ticker"} | {catalogue.COMPANY: bound["ticker"]}


def superseded(dataset: Dataset) -> str:
    """Return the SQL of a dataset's view of tombstones: every stored row except the newest of its key."""
    order = ", ".join(f"{name} DESC" for name in newest_first(dataset))
    return (
        f"CREATE VIEW lake.superseded_{dataset.name} AS "
        "SELECT available_at AS dead_at, content_hash AS dead_hash "
        f"FROM (FROM lake.{dataset.name} "
        f"QUALIFY row_number() OVER (PARTITION BY {', '.join(dataset.key)} ORDER BY {order}) > 1)"
    )


def plain_row(dataset: Dataset) -> dict[str, Any]:
    """Return a row with only the required columns."""
    row: dict[str, Any] = {"available_at_source": dataset.source_tag}
    for column in dataset.columns:
        if column.required:
            row[column.name] = "2024-01-02T00:00:00Z" if column.type == "instant" else MISSING[column.type]
    return row


@pytest.fixture
def world():
    """A function that builds worlds, by default as of the end of 2024."""
    outcome: list[World] = []

    def build(as_of: str = "2024-12-31T00:00:00Z", datasets: Iterable[str] | None = None, **rows: Any) -> World:
        outcome.append(World(as_of, rows, datasets))
        return outcome[-1]

    yield build
    for item in outcome:
        item.connection.close()


@pytest.fixture(scope="module")
def empty() -> Iterator[World]:
    """A world with every dataset and no rows."""
    outcome = World("2024-12-31T00:00:00Z", {}, all_datasets())
    yield outcome
    outcome.connection.close()
