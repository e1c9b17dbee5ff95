"""Histories: documents at sources, and polls of the sources, which the real code publishes into one lake.

The clock is simulated, so that observations and commits happen at the times of the polls. `Ledger` records what each
poll found about each thing as it was staged, before the lake's content changed any date.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from assets.order import dependencies, in_order
from pitlake.clock import AVAILABLE_AT
from pitlake.datasets import get
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.stage import Stage
from tests.partitions import run_partitions
from tests.wall.late import graph, outside
from tests.wall.late.documents import FIRST, LAST, Document, Event, life
from tests.wall.late.found import Thing
from tests.wall.late.graph import GraphAt
from tests.wall.late.outside import Asked
from tests.wall.late.sources import DATASETS, KINDS, NAMES, told_in

DRIFT = "in small histories a source may lose all its records"
LOOKS, SHORTEST = (4, 8), timedelta(hours=6)
Row = dict[str, Any]
BEFORE = timedelta(days=25)  # sources may date a change back by this much
DAYS = [(FIRST - BEFORE).date() + timedelta(days=n) for n in range((LAST - FIRST + 2 * BEFORE).days)]
FIRST_NUMBER, A_KIND = 1000, 6  # documents of each kind
EMPTY_SHARE = 0.5  # the share of histories, and of the documents in them


@dataclass(frozen=True)
class Look:
    """A poll: its time, the datasets, and the window of days."""

    at: datetime
    datasets: tuple[str, ...]
    days: tuple[date, ...]


@dataclass(frozen=True)
class Sight:
    """What one poll found about one thing: rows as (source's date, content), and whether there was a gap."""

    at: datetime
    rows: tuple[tuple[datetime, tuple[Any, ...]], ...]
    gap: bool


@dataclass
class Ledger:
    """A record of all polls. sights: what each poll found, by (dataset, thing). located: the thing that a gap's locator
    names. polls: the complete polls of each dataset. asked: all polls of outside providers, in order.
    """

    sights: dict[tuple[str, Thing], list[Sight]] = field(default_factory=dict)
    located: dict[tuple[str, str], Thing] = field(default_factory=dict)
    polls: dict[str, list[Asked]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    def polled(self, dataset: str, row: Row, moment: datetime) -> datetime | None:
        """Return the last complete poll until an instant that would have found the row, None if there was none."""
        polls = self.polls.get(dataset, ())
        return max((each.at for each in polls if each.at <= moment and each.covers(row)), default=None)

    def note(self, at: datetime, dataset: str, rows: list[Row], gaps: Mapping[str, Thing]) -> None:
        """Record the findings of a poll of a dataset: its rows, and the things of its gaps by locator."""
        result: dict[Thing, list[tuple[datetime, tuple[Any, ...]]]] = {}
        for row in rows:
            statement = (row[AVAILABLE_AT], canonical(row[name] for name in get(dataset).content_columns))
            result.setdefault(NAMES[dataset](row), []).append(statement)
        for thing in {*result, *gaps.values()}:
            sight = Sight(at, tuple(result.get(thing, ())), thing in gaps.values())
            self.sights.setdefault((dataset, thing), []).append(sight)
        self.located |= {(dataset, locator): thing for locator, thing in gaps.items()}

    def last(self, dataset: str, thing: Thing, moment: datetime) -> Sight | None:
        """Return what the last poll at or before an instant found about a thing, None if there was none."""
        return max(
            (s for s in self.sights.get((dataset, thing), ()) if s.at <= moment), key=lambda s: s.at, default=None
        )

    def next(self, dataset: str, thing: Thing, moment: datetime) -> Sight | None:
        """Return what the first poll after an instant found about a thing, None if there was none."""
        return min(
            (s for s in self.sights.get((dataset, thing), ()) if s.at > moment), key=lambda s: s.at, default=None
        )


class Watched(Lake):
    """A lake that passes each stage to `seen` before publishing it."""

    seen: Callable[[str, list[Row], list[str]], None]

    def publish(self, stage: Stage, *arguments: Any, **names: Any) -> Any:
        """Publish a stage, after passing it to `seen`."""
        staged = stage.load()
        self.seen(staged.dataset.name, staged.rows.to_pylist(), staged.gaps["locator"].to_pylist())
        return super().publish(stage, *arguments, **names)


@dataclass(frozen=True)
class History:
    """Documents and the polls of their sources, in order."""

    seed: int
    documents: tuple[Document, ...]
    looks: tuple[Look, ...]

    def story(self) -> list[str]:
        """Return the history as lines."""
        looks = [f"{each.at:%Y-%m-%d %H:%M} look {_said(each)}" for each in self.looks]
        return sorted([*looks, *(line for document in self.documents for line in document.story())])

    def run(self, root: Path, after: Callable[[Lake, int], None]) -> tuple[Lake, Ledger]:
        """Make every poll in turn. After each, call `after` with the lake, which has nothing later, and its place."""
        lake, ledger = Watched(root, allow_drift=DRIFT), Ledger()
        with clock_at(FIRST):
            lake.start()
        for place, look in enumerate(self.looks):
            with clock_at(look.at):
                self._look(lake, ledger, look, place)
                after(lake, place)
        return lake, ledger

    def _look(self, lake: Watched, ledger: Ledger, look: Look, place: int) -> None:
        graphs = graph.looked_at(self.documents, look.at)
        answers = outside.looked_at(self.documents, look.at)
        reply = {dataset for document in self.documents for dataset in told_in(document.kind.name)}
        for name in filter(reply.__contains__, look.datasets):
            located: dict[str, Thing] = {}

            def seen(dataset: str, rows: list[Row], gaps: list[str], located: dict[str, Thing] = located) -> None:
                response = answers.get(dataset, ())
                result = {gap: located.get(gap) or outside.thing_of(dataset, gap, response) for gap in gaps}
                ledger.note(
                    look.at, dataset, rows, {each: thing for each, thing in result.items() if thing is not None}
                )

            lake.seen = seen
            run = f"look-{place}-{name}"
            if name in graph.EXTRACTORS:
                reader = GraphAt(graphs, graph.EXTRACTORS[name], look.at, located)
                days = look.days if reader.extractor.dataset.partitioned else ()
                run_partitions(reader.extractor, days, reader, lake, run_id=run)
            elif answers.get(name):
                question = outside.ask(name, answers[name], lake, run, look.at)
                ledger.asked.append(question)
                if name in outside.WHOLE:
                    ledger.polls.setdefault(name, []).append(question)


def lived(seed: int, only: frozenset[tuple[str, int]] | None = None) -> History:
    """Return the history of a seed. only: its documents, as (kind, number); all of them by default."""
    numbered = ((kind, FIRST_NUMBER + A_KIND * place + n) for place, kind in enumerate(KINDS) for n in range(A_KIND))
    documents = tuple(
        life(kind, number, f"late/{seed}") for kind, number in numbered if only is None or (kind.name, number) in only
    )
    looks = tuple(_looks(Random(f"late/{seed}/looks")))
    if Random(f"late/{seed}/empty").random() < EMPTY_SHARE:
        looks = (Look(FIRST + SHORTEST / 2, DATASETS, tuple(DAYS)), *looks)
        documents = tuple(_empty_at_first(document, f"late/{seed}/empty") for document in documents)
    return History(seed, documents, looks)


def _empty_at_first(document: Document, seed: str) -> Document:
    """Return the document, or one that at first is listed without items, so that a poll finds it empty."""
    first = document.events[0]
    rng = Random(f"{seed}/{document.kind.name}/{document.number}")
    if first.at <= FIRST or "make" not in (first.state or {}) or rng.random() >= EMPTY_SHARE:
        return document
    empty = Event(FIRST, "is listed without an item", {**(first.state or {}), "items": {}})
    return replace(document, events=(empty, *document.events))


@contextmanager
def clock_at(moment: datetime) -> Iterator[None]:
    """Stop the lake's clock at an instant."""
    with patch("pitlake.clock.now", lambda: moment):
        yield


def canonical(values: Any) -> tuple[Any, ...]:
    """Return values in a form that can be hashed."""
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def _looks(rng: Random) -> Iterator[Look]:
    count, names = rng.randrange(*LOOKS), list(DATASETS)
    spread = sorted(rng.randrange(int((LAST - FIRST).total_seconds())) for _ in range(count))
    at = FIRST
    for number, seconds in enumerate(spread):
        at = max(at + SHORTEST, FIRST + timedelta(seconds=seconds))
        datasets = names if rng.random() < 0.7 else rng.sample(names, rng.randrange(1, len(names)))
        days = DAYS
        if number and rng.random() < 0.3:
            first = rng.randrange(len(DAYS))
            days = DAYS[first : first + rng.randrange(10, 60)]
        yield Look(at, _with_needed(datasets), tuple(days))


def _with_needed(names: Iterable[str]) -> tuple[str, ...]:
    """Return datasets and those that they need, in the order of loading. If a dataset were polled without those that
    date it, a replay would know more dates than the poll.
    """
    needed = {*names}
    while more := {each for name in needed for each in dependencies()[name]} & {*DATASETS} - needed:
        needed |= more
    return tuple(in_order(needed))


def _said(look: Look) -> str:
    names = "every dataset" if len(look.datasets) == len(DATASETS) else ", ".join(look.datasets)
    return f"at {names}, {look.days[0]} to {look.days[-1]}"
