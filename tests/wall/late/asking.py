"""Two ways to query a lake as of an instant, which give the same answers.

`Held` evaluates the views that the contracts define in this process, over the lake's files and for thousands of
instants. `session_answers` queries pitlake's sessions, including sealed ones, and also runs queries of the catalogue.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from random import Random
from typing import Any

import pyarrow.parquet as pq

from pitlake import clock, connect
from pitlake.clock import AVAILABLE_AT
from pitlake.contract import gap_table_name
from pitlake.datasets import get
from pitlake.errors import PitlakeError
from pitlake.lake.lake import Lake
from pitlake.questions import catalogue
from pitlake.tombstones import newest_first
from tests.wall.late.looks import History, canonical, clock_at
from tests.wall.late.sources import NAMES

GAPS = "FROM gaps"
VECTORS = "SELECT e.id, e.vector[2] AS version, n.title FROM embeddings e JOIN news n ON n.id = e.id"
GAP_COLUMNS = ("dataset", "gap_type", "reason", "locator", "available_at")
COUNTED = ("revision", "prev_available_at")  # these columns count all revisions of a key, including late ones

Row = Mapping[str, Any]
Shown = tuple[datetime, Row]
Answers = dict[str, list[Row]]


class Held:
    """The rows and gaps of the history's datasets in the newest version of a lake."""

    def __init__(self, lake: Lake) -> None:
        snapshot = lake.snapshot()
        self.rows: dict[str, list[Row]] = {}
        self.gaps: list[Row] = []
        for name in sorted({table.removeprefix("gaps/") for table in snapshot.tables} & set(NAMES)):
            self.rows[name] = [row for file in snapshot.files(name) for row in _read(file.path)]
            gaps = (row for file in snapshot.files(gap_table_name(name)) for row in _read(file.path))
            self.gaps += [_only(row, GAP_COLUMNS) for row in gaps]

    @cached_property
    def _keys(self) -> dict[str, list[list[Shown]]]:
        """Return, per dataset, the revisions of each key, newest first: the publication time and the columns shown."""
        result = {}
        for name, rows in self.rows.items():
            groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
            for row in rows:
                groups[canonical(row[column] for column in get(name).key)].append(row)
            order, columns = _nulls_last(newest_first(get(name))), get(name).agent_columns
            result[name] = [
                [(row[AVAILABLE_AT], _only(row, columns)) for row in sorted(group, key=order, reverse=True)]
                for group in groups.values()
            ]
        return result

    def answers(self, as_of: datetime) -> Answers:
        """Return the rows of each view and its `_revisions`, the gaps, and vectors with titles, as of an instant."""
        inputs: Answers = {GAPS: [row for row in self.gaps if row[AVAILABLE_AT] <= as_of]}
        for name, groups in self._keys.items():
            public = [[display for at, display in group if at <= as_of] for group in groups]
            inputs[f"FROM {name}"] = [group[0] for group in public if group]
            inputs[f"FROM {name}_revisions"] = [row for group in public for row in group]
        if {"news", "embeddings"} <= self.rows.keys():
            titles = {row["id"]: row["title"] for row in inputs["FROM news"]}
            inputs[VECTORS] = [
                {"id": row["id"], "version": row["vector"][1], "title": titles[row["id"]]}
                for row in inputs["FROM embeddings"]
                if row["id"] in titles
            ]
        return inputs


def session_answers(lake: Lake, as_of: datetime, history: History, isolation: str, **more: Any) -> Answers:
    """Put these questions and catalogue queries about one company each to a session, opened no earlier than `as_of`."""
    present = {name.removeprefix("gaps/") for name in lake.snapshot().tables} & set(NAMES)
    result: Answers = {}
    bound = {"lake": lake, "datasets": sorted(present), "isolation": isolation, **more}
    with clock_at(max(as_of, clock.now())), connect(as_of, **bound) as session:

        def ask(question: str, sql: str, values: Any = None) -> None:
            try:
                result[question] = session.sql(sql, values).arrow().to_pylist()
            except PitlakeError as error:
                result[question] = [{"error": f"{type(error).__name__}: {error}"}]

        ask(GAPS, GAPS)
        for name in sorted(present):
            ask(f"FROM {name}", f"FROM {name}")
            ask(f"FROM {name}_revisions", f"SELECT * EXCLUDE ({', '.join(COUNTED)}) FROM {name}_revisions")
        if {"news", "embeddings"} <= present:
            ask(VECTORS, VECTORS)
        for name, values in _named(history, as_of, present):
            query = catalogue.get(name)
            ask(f"{name} {values['ticker']}", query.sql, query.bind(values))
    return result


def _named(history: History, as_of: datetime, present: set[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    rng = Random(f"late/{history.seed}/{as_of}")
    for name, query in sorted(catalogue.all_queries().items()):
        needed = {parameter.name for parameter in query.parameters if parameter.required}
        pool = {"ticker": f"X{rng.choice(history.documents).number}", "start_date": "2024-01-01"}
        pool |= {"query": "margin OR risk", "concept_qname": "us-gaap:Revenues", "channel": "news"}
        pool["seed_id"] = f"bzNews_{rng.choice(history.documents).number}"
        takes = {parameter.name for parameter in query.parameters}
        if set(query.reads) <= present and needed <= set(pool) and "ticker" in takes:
            yield name, {each: value for each, value in pool.items() if each in takes}


def key(row: Row) -> tuple[Any, ...]:
    """Return a row as a hashable value."""
    return canonical(row.values())


def _read(path: str) -> Iterable[Row]:
    return pq.read_table(path, partitioning=None).to_pylist()


def _only(row: Row, columns: Iterable[str]) -> Row:
    return {name: row[name] for name in columns}


def _nulls_last(columns: Iterable[str]) -> Callable[[Row], tuple[Any, ...]]:
    names = tuple(columns)
    return lambda row: tuple((row[name] is not None, row[name]) for name in names)
