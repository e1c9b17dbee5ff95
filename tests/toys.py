"""A toy source with its own dataset, for tests of generic code: extraction, checks, and the Dagster wiring.

The toy graph answers window queries like a real graph, by comparing strings, and records the queries.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from typing import ClassVar

import neo4j
import pyarrow.parquet as pq

from assets.extraction import Extractor, Place, dated
from assets.graph import texts
from pitlake.contract import Column, Dataset, GapRule
from resources.graph.resource import GraphResource

OBSERVED = datetime(2026, 1, 1, tzinfo=timezone.utc)
UNDATED = GapRule(type="unverifiable", reason="undated", when="at is not an instant")
FUTURE = GapRule(type="pit_excluded", reason="not public yet", when="at is after the observation")
NOTES = Dataset(
    name="notes",
    title="Notes",
    summary="A toy.",
    availability="at",
    columns=(
        Column(name="id", type="string", required=True, meaning="Id."),
        Column(name="said", type="json", meaning="What was said."),
    ),
    key=("id",),
    entity="id",
    source_tag="neo4j_created",
    gap_rules=(UNDATED, FUTURE),
)


@dataclass
class ToyGraph:
    """A graph of notes by id, with the two queries "window" and "sweep". `asked` records the windows."""

    notes: dict[str, dict[str, object]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    obeys: bool = True

    def write(self, note: str, at: object, message: object = "{}") -> None:
        self.notes[note] = {"id": note, "at": at, "said": message}

    def stream(self, cypher: str, params: dict[str, str], *, fetch_size: int) -> Iterator[list[neo4j.Record]]:
        if cypher == "window":
            self.asked.append((params["lo"], params["hi"]))
        result = [note for note in self.notes.values() if not self.obeys or self._matches(cypher, note["at"], params)]
        for start in range(0, len(result), fetch_size):
            yield [neo4j.Record(note) for note in result[start : start + fetch_size]]

    def _matches(self, cypher: str, at: object, params: dict[str, str]) -> bool:
        if cypher == "sweep":
            return not (isinstance(at, str) and texts.leading_day(at))
        if not params:
            return False
        return isinstance(at, str) and params["lo"] <= at < params["hi"]


def locate(record, _run):
    evidence = f"toy:{record['id']}"
    at = texts.readable(texts.instant, record["at"])
    if at is None:
        return Place(evidence, day=texts.leading_day(record["at"]), reason=UNDATED.reason)
    return dated(evidence, at)


TOY = Extractor(
    dataset=NOTES,
    windows=("window",),
    sweeps=("sweep",),
    locate=locate,
    values=lambda record: {"id": record["id"], "said": record["said"]},
    batch=7,
)


class ToyResource(GraphResource):
    """A graph resource that connects to the toy graph."""

    toy: ClassVar[ToyGraph] = ToyGraph()

    @contextlib.contextmanager
    def connect(self) -> Iterator[ToyGraph]:
        yield self.toy


def between(first: str, last: str) -> list[date]:
    """Return the days from first to last."""
    start, end = date.fromisoformat(first), date.fromisoformat(last)
    return [start + timedelta(days=offset) for offset in range((end - start).days + 1)]


def stored(lake, table="notes", version=None):
    """Return every row of a table as a dict, as stored in the files of one version."""
    files = lake.snapshot(version).files(table)
    return [row for file in files for row in pq.read_table(file.path, partitioning=None).to_pylist()]


def seen(lake, table="notes"):
    """Return the rows sorted, without the columns that depend on the run."""
    hidden = ("observed_at", "run_id")
    return sorted(sorted((k, str(v)) for k, v in row.items() if k not in hidden) for row in stored(lake, table))
