"""What the lake was told before, for feeds whose records say less than they should: read lazily, one version a run.

And the one rule about claimed dates that needs it: a claim that goes back is none. Called by `assets.external.runs`,
by `assets.external.reparse` and `assets.derived.drift`.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from assets.external.naming import Outcome
from assets.extraction import Row, RunFacts, day_of
from pitlake.clock import AVAILABLE_AT, OBSERVED_AT, from_micros
from pitlake.contract import Dataset
from pitlake.errors import LakeNotFound
from pitlake.lake.lake import Lake
from pitlake.lake.manifest import Snapshot
from pitlake.lake.query import calculator, columns, quoted, reading


class LakeStatements:
    """The statements of one lake version: the newest one when the first question is asked."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._snapshot: Snapshot | None = None

    def __call__(self, dataset: Dataset, column: str, values: Collection[str]) -> list[dict[str, Any]]:
        """Every revision of the rows with these values in a column, oldest first: the business columns, available_at
        and observed_at.
        """
        if self._snapshot is None:
            try:
                self._snapshot = self._lake.snapshot()
            except LakeNotFound:
                self._snapshot = Snapshot(0)
        files = self._snapshot.files(dataset.name)
        if not files:
            return []
        self._snapshot.fetch(files)
        instants = ", ".join(f"epoch_us({name}) AS {name}" for name in (AVAILABLE_AT, OBSERVED_AT))
        question = f"""
            SELECT {columns(dataset.content_columns)}, {instants} FROM {reading(files)} e
            WHERE {quoted(column)} IN (SELECT unnest($wanted)) ORDER BY e.available_at, content_hash"""
        with calculator() as connection:
            found = connection.sql(question, params={"wanted": sorted(values)}).to_arrow_table().to_pylist()
        return [row | {name: from_micros(row[name]) for name in (AVAILABLE_AT, OBSERVED_AT)} for row in found]


def never_back(dataset: Dataset, found: Iterable[Outcome], run: RunFacts, fetched_at: datetime) -> Iterator[Outcome]:
    """The outcomes of one unit, where a new text with an older date than the record bore before is dated by its answer.

    Before, the source said that the record was younger: the claim of an older date came after that, and the text too.
    """
    outcomes = list(found)
    rows = [one.values for one, _ in outcomes if isinstance(one, Row)]
    [key] = dataset.key
    known: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for statement in run.statements(dataset, key, {row[key] for row in rows}) if run.statements and rows else ():
        known[statement[key]].append(statement)
    for outcome, day in outcomes:
        if isinstance(outcome, Row) and _went_back(dataset, outcome, known[outcome.values[key]], fetched_at):
            yield replace(outcome, available_at=fetched_at), day_of(fetched_at)
        else:
            yield outcome, day


def _went_back(dataset: Dataset, row: Row, known: Sequence[Mapping[str, Any]], fetched_at: datetime) -> bool:
    if any(all(one[name] == row.values[name] for name in dataset.content_columns) for one in known):
        return False  # told before: the lake has its date
    return any(one[AVAILABLE_AT] > row.available_at and one[OBSERVED_AT] <= fetched_at for one in known)
