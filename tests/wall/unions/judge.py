"""Two judges of questions that read several sources, over lakes of histories in which the sources disagree.

*Truth.* The answer as of T over the whole lake is the same over a lake that ends at T and over one with a different
future. The same rows are in different files in each.

*Late.* A lake is queried as of T when all its polls are at or before T, and again after all polls. With `known_by=T`,
the second answer matches the first. Without it, the answer is the same unless a source that it reads shows a different
row as of T. Such a row must be dated after the last poll that found its thing or read its whole source.

Both compare every answer with the expected one if `preference` can compute it.
"""

import random
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pitlake import clock, connect
from pitlake.clock import AVAILABLE_AT
from pitlake.lake.lake import Lake
from tests.tally import Tally
from tests.wall.late.documents import LAST
from tests.wall.late.looks import clock_at
from tests.wall.sealed import Sealed
from tests.wall.unions import preference, questions
from tests.wall.unions.histories import SETTLES, History, gaps_of, lived, rows_of, thing_of
from tests.wall.unions.questions import Question
from tests.wall.unions.sources import COMPANIES, DERIVED, SOURCES, Row
from tests.wall.worlds import World, written

MICROSECOND = timedelta(microseconds=1)
AFTERWARDS = LAST + timedelta(days=365)
ABOUT_EACH = 6  # questions per company
MOMENTS = 6  # per history, for `truth`
MOMENTS_A_LOOK = 2

Tables = dict[str, pa.Table]
Rows = dict[str, list[Row]]


@dataclass
class UnionTally(Tally):
    """A tally of one seed. An answer about pairs of a company and an instant counts as one per pair."""

    seed: int = 0

    def same(self, what: str, question: Question, as_of: datetime, expected: list[Row], inputs: list[Row]) -> None:
        """Compare two answers."""
        self.compared += question.size
        self.answered += question.size * (bool(inputs) and "error" not in inputs[0])
        if expected != inputs:
            lost, extra = _less(expected, inputs), _less(inputs, expected)
            self.blame(what, question, as_of, f"gone {lost[:2]}, new {extra[:2]}")

    def due(self, question: Question, as_of: datetime, answer: list[Row], rows: Rows) -> None:
        """Compare an answer with the expected one."""
        if preference.is_judged(question):
            self.counts["judged"] += question.size
            result = preference.mistake(question, answer, rows, as_of)
            if result is not None:
                self.blame("not what is due", question, as_of, result)

    def blame(self, what: str, question: object, as_of: datetime, result: object) -> None:
        """Count a mismatch."""
        self.failures.append(f"seed {self.seed}, as of {as_of.isoformat()}: {question}: {what}: {result}")


def truth(seed: int, scratch: Path, moments: int = MOMENTS, isolation: str = "process") -> UnionTally:
    """Judge the truncation of a history's lake."""
    tally, rng = UnionTally(seed=seed), random.Random(f"unions/truth/{seed}")
    lake = lived(seed).run(scratch / "whole")
    rows, gaps = rows_of(lake), gaps_of(lake)
    listing = _listed(rows)
    whole = World(scratch / "whole", lake.snapshot())
    instants = sorted({row[AVAILABLE_AT] for name in SOURCES for row in listing[name]})
    for number in range(moments):
        as_of = rng.choice(instants) + rng.choice((-1, 0, 0, 1)) * MICROSECOND
        cut = written(scratch / f"cut-{number}", _until(rows, as_of), _until(gaps, as_of), landings=1)
        other = written(scratch / f"other-{number}", _otherwise(rows, as_of), _until(gaps, as_of), landings=3)
        request = list(questions.asked(as_of, COMPANIES, ABOUT_EACH, rng))
        expected, *answers = (_answers(world, as_of, request, isolation) for world in (cut, whole, other))
        for question, due, *inputs in zip(request, expected, *answers, strict=True):
            for each in inputs:
                tally.same("another answer than in a lake that ends there", question, as_of, due, each)
            tally.due(question, as_of, due, listing)
        shutil.rmtree(cut.root, ignore_errors=True)  # A lake that ends before its first row has no folder.
        shutil.rmtree(other.root, ignore_errors=True)
    return tally


def _answers(world: World, as_of: datetime, request: list[Question], isolation: str) -> list[list[Row]]:
    with closing(Sealed(world, as_of, isolation=isolation, datasets=questions.read())) as sealed:
        return [question.ask(sealed.session) for question in request]


def _until(tables: Tables, as_of: datetime) -> Tables:
    return {name: table.filter(pc.less_equal(table[AVAILABLE_AT], pa.scalar(as_of))) for name, table in tables.items()}


def _otherwise(tables: Tables, as_of: datetime) -> Tables:
    """Return the rows until an instant, followed by every row with different numbers and a later date."""
    past = _until(tables, as_of)
    return {name: pa.concat_tables([past[name], _restated(table, as_of)]) for name, table in tables.items()}


def _restated(table: pa.Table, as_of: datetime) -> pa.Table:
    later = pa.scalar(as_of + timedelta(days=1), table.schema.field(AVAILABLE_AT).type)
    new = {AVAILABLE_AT: pc.if_else(pc.greater(table[AVAILABLE_AT], later), table[AVAILABLE_AT], later)}
    new["content_hash"] = pa.array([number.to_bytes(16, "big") for number in range(len(table))], pa.binary())
    new |= {each.name: pc.multiply(table[each.name], 3.0) for each in table.schema if pa.types.is_floating(each.type)}
    return pa.table([new.get(name, table[name]) for name in table.schema.names], schema=table.schema)


def late(seed: int, scratch: Path, moments_a_look: int = MOMENTS_A_LOOK, about_each: int = ABOUT_EACH) -> UnionTally:
    """Judge the answers from a history's lake before and after its later polls. about_each: questions per company."""
    history, tally, rng = lived(seed), UnionTally(seed=seed), random.Random(f"unions/late/{seed}")
    request: list[tuple[datetime, str, list[Question], list[list[Row]], Rows]] = []

    def then(lake: Lake, place: int) -> None:
        rows = _listed(rows_of(lake))
        for as_of in _moments(history, place, moments_a_look, rng):
            isolation = rng.choice(("in_process", "process"))
            put = list(questions.asked(as_of, COMPANIES, about_each, rng))
            request.append((as_of, isolation, put, _session_answers(lake, as_of, put, isolation), rows))

    lake = history.run(scratch / "lake", then)
    rows = _listed(rows_of(lake))
    with clock_at(AFTERWARDS):
        for as_of, isolation, put, before, existing in request:
            changed = set(_changes(history, tally, as_of, existing, rows))
            again = _session_answers(lake, as_of, put, isolation, known_by=as_of)
            now = _session_answers(lake, as_of, put, isolation)
            for question, first, same, last in zip(put, before, again, now, strict=True):
                tally.same("known by then, another answer", question, as_of, first, same)
                if not changed & question.reads and question.name != "page gaps":
                    tally.same("another answer since", question, as_of, first, last)
                tally.due(question, as_of, first, existing)
                tally.due(question, as_of, last, rows)
    return tally


def _session_answers(
    lake: Lake, as_of: datetime, request: list[Question], isolation: str, **more: Any
) -> list[list[Row]]:
    if not request:
        return []
    bound = {"lake": lake, "datasets": questions.read(), "isolation": isolation, **more}
    with clock_at(max(as_of, clock.now())), connect(as_of, **bound) as session:
        return [question.ask(session) for question in request]


def _changes(history: History, tally: UnionTally, as_of: datetime, then: Rows, now: Rows) -> Iterator[str]:
    """Yield the datasets whose rows as of an instant have changed. Blame rows that an earlier poll disproves."""
    for dataset in now:
        before, after = ([row for row in rows[dataset] if row[AVAILABLE_AT] <= as_of] for rows in (then, now))
        lost, extra = _less(before, after), _less(after, before)
        if lost:
            tally.blame("rows are gone", dataset, as_of, lost[:2])
        if extra:
            yield dataset
        for row in extra if dataset != DERIVED else ():
            proof = history.last_proof(thing_of(dataset, row), as_of)
            if proof is not None and row[AVAILABLE_AT] <= proof:
                tally.blame(f"a row that was not there on {proof.isoformat()}", dataset, as_of, row)


def _moments(history: History, place: int, count: int, rng: random.Random) -> Iterator[datetime]:
    """Yield instants at which this poll is the newest: right after it, right before the next, and random ones."""
    here = history.looks[place][0] + SETTLES
    after = history.looks[place + 1][0] if place + 1 < len(history.looks) else LAST + timedelta(days=30)
    for _ in range(count):
        between = here + (after - here) * rng.random()
        yield rng.choice((here, after - MICROSECOND, between, between))


def _listed(tables: Tables) -> Rows:
    return {name: table.to_pylist() for name, table in tables.items()}


def _less(rows: list[Row], others: list[Row]) -> list[Row]:
    """Return the rows that the others lack."""
    left, result = [*others], []
    for row in rows:
        if row in left:
            left.remove(row)
        else:
            result.append(row)
    return result
