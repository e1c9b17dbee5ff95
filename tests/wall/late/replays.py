"""Replays of a history's captures into fresh lakes: no instant shows the future, in any order of the replays.

The live lake read every response when it arrived. A fresh lake is filled from the same responses in one of three ways:

- *At once.* Each feed is replayed in one run. All answers as of all instants match the live lake's, gaps included.
- *In parts.* Runs replay some of the units, partly up to an instant, in any order. The last run replays everything.
- *Shuffled.* The polls' responses arrive in any order. After each arrival all captures are replayed.

In the last two ways the fresh lake may show less, and show it later, but never earlier. The live lake shows as of T
everything that the fresh one shows. The fresh lake has everything that the live one has, or a gap that recommends
replaying all captures into a new lake. Rows about such gaps, and rows read before the responses of an earlier poll had
arrived, are excused: they are dated as if the late responses did not exist, and the lake reports that it ignored them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from pitlake.clock import OBSERVED_AT
from pitlake.contract import SEEN_LATER
from pitlake.datasets import get
from pitlake.datasets.sec_facts import UNKNOWN_FILING
from pitlake.lake.lake import Lake
from resources.http.capture import CaptureStore
from tests.wall.late.asking import GAPS, Held, Row, key
from tests.wall.late.documents import FIRST, LAST
from tests.wall.late.looks import DRIFT, History, Ledger, canonical, clock_at
from tests.wall.late.outside import FEEDS, Asked, captures_of, replay
from tests.wall.late.sources import NAMES

AT_ONCE, IN_PARTS, SHUFFLED = "at once", "in parts", "shuffled"
WAYS = (AT_ONCE, IN_PARTS, SHUFFLED)
PARTS = 3  # runs of a feed before the last one
SINCE = LAST + timedelta(days=365)  # the time of the replays


@dataclass
class Replay:
    """A fresh lake and how it was filled. read: the instants of each dataset's polls, in the order of reading."""

    way: str
    lake: Lake
    read: dict[str, list[datetime]] = field(default_factory=dict)

    @cached_property
    def held(self) -> Held:
        """Return everything that the lake contains now."""
        return Held(self.lake)

    def out_of_order(self, dataset: str) -> set[datetime]:
        """Return the polls of a dataset that were read before an earlier poll."""
        read = self.read.get(dataset, [])
        return {at for place, at in enumerate(read) if any(later < at for later in read[place + 1 :])}


def replayed(history: History, ledger: Ledger, way: str, root: Path) -> Replay:
    """Fill a fresh lake from the responses to a history's polls."""
    rng = Random(f"late/{history.seed}/replays/{way}")
    replay = Replay(way, Lake(root / "lake", allow_drift=DRIFT))
    with clock_at(FIRST):
        replay.lake.start()
    with clock_at(SINCE):
        for name in FEEDS:
            question = [each for each in ledger.asked if each.dataset == name]
            if question:
                _Filling(replay, CaptureStore(captures_of(name, root))).fill(name, question, rng)
    return replay


class _Filling:
    """A lake being filled from a store of captures."""

    def __init__(self, replay: Replay, store: CaptureStore) -> None:
        self._replay, self._store, self._runs = replay, store, 0

    def fill(self, name: str, question: Sequence[Asked], rng: Random) -> None:
        """Add the captures of a dataset's polls to the store, and replay them in the chosen way."""
        if self._replay.way == SHUFFLED:
            for item in rng.sample(question, len(question)):
                self._put(name, [item])
                self._run(name, [item], None)
        else:
            self._put(name, question)
        for _ in range(PARTS if self._replay.way == IN_PARTS else 0):
            until = rng.choice(question).at if rng.random() < 0.7 else None
            there = [each for each in question if until is None or each.at <= until]
            self._run(name, there, until, rng)
        self._run(name, question, None)

    def _put(self, name: str, question: Iterable[Asked]) -> None:
        for item in question:
            for answer in item.answers:
                self._store.put(answer)
            self._replay.read.setdefault(name, []).append(item.at)

    def _run(self, name: str, question: Iterable[Asked], until: datetime | None, rng: Random | None = None) -> None:
        states = list({state["number"]: state for each in question for state in each.held}.values())
        if rng is not None:
            states = rng.sample(states, rng.randrange(1, len(states) + 1))
        self._runs += 1
        run_id = f"replay-{name}-{self._runs}"
        replay(name, FEEDS[name].scope(states), self._store, self._replay.lake, run_id, until)


@dataclass
class Comparison:
    """A comparison of a replayed lake with the live one. `blame` receives each difference with its instant and rows."""

    live: Held
    ledger: Ledger
    replay: Replay
    blame: Callable[[datetime, str, str, list[Row], str], None]
    left_out: Counter[str]

    def compare(self, moment: datetime) -> Iterator[bool]:
        """Compare all datasets as of an instant. Yields, for each, whether the fresh lake showed anything."""
        live, fresh = self.live.answers(moment), self.replay.held.answers(moment)
        for dataset in self.replay.read:
            revisions = f"FROM {dataset}_revisions"
            yield bool(fresh.get(revisions))
            if self.replay.way == AT_ONCE:
                for question in (f"FROM {dataset}", revisions):
                    self._equal(moment, question, live.get(question, []), fresh.get(question, []), dataset)
                gaps = ([row for row in each[GAPS] if row["dataset"] == dataset] for each in (live, fresh))
                self._equal(moment, GAPS, *gaps)
            else:
                public = {_content(dataset, row) for row in live.get(revisions, ())}
                excused = {_content(dataset, row) for row in self._out_of_order(dataset)}
                refused = self._refused(dataset)
                extra = [row for row in fresh.get(revisions, ()) if _content(dataset, row) not in public]
                early = [
                    row for row in extra if _content(dataset, row) not in excused and NAMES[dataset](row) not in refused
                ]
                self.left_out["row beside what came too late"] += len(extra) - len(early)
                self._tell(moment, revisions, "the live lake does not show it", early, dataset)

    def refused(self) -> Iterator[bool]:
        """Check that every row of the live lake is in the fresh one, or was refused with a gap.

        If a filing was refused, what it dates has no date.
        """
        reasons = {SEEN_LATER.reason, UNKNOWN_FILING.reason}
        gaps = {row["locator"] for row in self.replay.held.gaps if row["reason"] in reasons}
        for dataset in self.replay.read if self.replay.way != AT_ONCE else ():
            there = {_content(dataset, row) for row in self.replay.held.rows.get(dataset, ())}
            early = {NAMES[dataset](row) for row in self._out_of_order(dataset)}
            for row in self.live.rows.get(dataset, ()):
                yield True
                result = row["evidence"] in gaps or NAMES[dataset](row) in early or _content(dataset, row) in there
                self._tell(
                    row[OBSERVED_AT], f"FROM {dataset}", "not there, nor refused", [] if result else [row], dataset
                )

    def _refused(self, dataset: str) -> set[Any]:
        """Return the things that the fresh lake refused, with a gap, as read too late."""
        gaps = {row["locator"] for row in self.replay.held.gaps if row["reason"] == SEEN_LATER.reason}
        sights = self.live.rows.get(dataset, ())
        return {NAMES[dataset](row) for row in sights if row["evidence"] in gaps}

    def _out_of_order(self, dataset: str) -> Iterator[Row]:
        """Return the fresh lake's rows from polls that were read before an earlier poll."""
        looks = self.replay.out_of_order(dataset)
        return (row for row in self.replay.held.rows.get(dataset, ()) if row[OBSERVED_AT] in looks)

    def _equal(
        self, moment: datetime, question: str, expected: list[Row], inputs: list[Row], dataset: str = ""
    ) -> None:
        self._tell(moment, question, "the live lake does not show it", _less(inputs, expected), dataset)
        self._tell(moment, question, "only the live lake shows it", _less(expected, inputs), dataset)

    def _tell(self, moment: datetime, question: str, what: str, rows: list[Row], dataset: str = "") -> None:
        self.blame(moment, f"{question}, replayed {self.replay.way}", what, rows, dataset)


def _content(dataset: str, row: Row) -> tuple[Any, ...]:
    """Return the thing of a row, and its content."""
    return NAMES[dataset](row), canonical(row[name] for name in get(dataset).content_columns)


def _less(rows: list[Row], others: list[Row]) -> list[Row]:
    """Return the rows that occur less often among the others."""
    if rows == others:
        return []
    left, result = Counter(map(key, others)), []
    for row in rows:
        left[key(row)] -= 1
        if left[key(row)] < 0:
            result.append(row)
    return result
