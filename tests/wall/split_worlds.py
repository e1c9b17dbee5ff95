"""Small worlds of bars and splits, queried as of every instant and compared with returns of as-traded prices.

A world is a ticker: the days and ratios of its splits, how these were recorded, and which bars were restated later.
All worlds are in one lake. `make splits` queries all of them.
"""

from collections import Counter
from datetime import date, datetime, timedelta, timezone
from itertools import combinations, pairwise, product
from math import isclose, prod
from pathlib import Path
from typing import NamedTuple

from assets.derived import earnings_outcomes
from assets.derived.earnings_bundles import Event
from pitlake.clock import end_of_new_york_day
from pitlake.lake.lake import Lake
from pitlake.questions import catalogue
from pitlake.session import connect
from tests.kit import publish
from tests.tally import Tally

DAYS = [date(2024, 6, day) for day in (3, 4, 5, 6, 7, 10, 11)]
RATIOS = (3.0, 2.0, 1.5, 0.5, 0.1)
PAIRS = (*product((3.0, 0.1), repeat=2), (2.0, 1.5), (1.5, 2.0))
# Factors by which news moves a price: about as much as a split of 2:1 or 3:2 would, and more.
NEWS = (0.2, 0.48, 0.53, 0.66, 1.5, 2.1)
OFF = ("graph a day off", "polygon a day off")
RECORDS = ("graph", "polygon", "both", "late", *OFF, "two ratios", "none")
VOLUMES = ("known", "unknown")
RESTATED = ("no bar", "the bar before", "every bar before")
STRAYS = ("a bar two days before", "a bar two days after")
QUERIES = ("panel", "prices_as_of_event", "bars_adjusted", "earnings_snapshot")
READS = sorted({name for query in QUERIES for name in catalogue.get(query).reads})
OBSERVED = datetime(2026, 1, 1, tzinfo=timezone.utc)
SHARE = 500
SURE = ("graph", "polygon", "both")


class World(NamedTuple):
    """One ticker. splits: (place in DAYS, ratio), in order. news: (place in DAYS, factor that moves the price)."""

    ticker: str
    splits: tuple[tuple[int, float], ...]
    record: str
    restated: str
    volumes: str = "known"
    news: tuple[int, float] | None = None

    def shares(self, after: int, until: int) -> float:
        """Return how many shares one share of a day has become by another day."""
        return prod(ratio for day, ratio in self.splits if after < day <= until)

    def traded(self, day: int) -> float:
        """Return the close as traded."""
        moved = self.news[1] if self.news and self.news[0] <= day else 1.0
        return moved * (100 + (-1) ** day) / self.shares(-1, day)

    def volume(self, day: int) -> float | None:
        """Return the number of shares traded: about the same value on each day, ten times as much on a day of news."""
        if self.volumes == "unknown":
            return None
        busy = 10.0 if self.news and self.news[0] == day else 1.0
        return busy * (1e8 + 4e7 * (-1) ** day) / self.traded(day)

    def value(self, after: int, until: int) -> float:
        """Return the worth on one day of a unit of money invested on an earlier day."""
        return self.traded(until) * self.shares(after, until) / self.traded(after)

    @property
    def certain(self) -> bool:
        """Return whether answers must be complete. The same ratio on two days within a week counts as one split."""
        if len({ratio for _, ratio in self.splits}) < len(self.splits):
            return False
        if self.news and (self.volumes == "unknown" or self.news[1] < 0.4):
            return False
        return self.restated == "no bar" and (self.record in SURE or not self.splits)


def worlds() -> list[World]:
    """Return all worlds, in a fixed order."""
    single = [((day, ratio),) for day, ratio in product(range(1, len(DAYS)), RATIOS)]
    double = [tuple(zip(days, both, strict=True)) for days in combinations(range(1, len(DAYS)), 2)
              for both in PAIRS]  # fmt: skip
    kinds = [
        *product(single, RECORDS, RESTATED, VOLUMES),
        *product(double, RECORDS, RESTATED[:1]),
        # A split of 5:4 moves a price less than news may, so only its record shows it.
        *product([((day, 1.25),) for day in range(1, len(DAYS))], ("graph", *OFF), RESTATED[:1], VOLUMES),
        *product([((day, ratio),) for day, ratio in product((2, 3, 4), (4 / 3, 1.5, 3.0))], SURE, STRAYS, VOLUMES),
        *product([()], RECORDS[-1:], RESTATED[:1], VOLUMES, product(range(1, len(DAYS)), NEWS)),
        *(
            (((split, 2.0),), record, RESTATED[0], "known", (news, moved))
            for split, news, record, moved in product((2, 4), (3, 5), ("graph", "none"), NEWS)
        ),
    ]
    return [World("W", (), "none", "no bar"), *(World(f"W{n}", *kind) for n, kind in enumerate(kinds))]


def close_of(day: int) -> datetime:
    """Return the instant at which the exchange closes."""
    return datetime(2024, 6, DAYS[day].day, 20, tzinfo=timezone.utc)


INSTANTS = [moment for day in range(len(DAYS)) for moment in (close_of(day), close_of(day) + timedelta(hours=6))]


def newest(moment: datetime) -> int:
    """Return the newest day whose bar is public."""
    return max(day for day in range(len(DAYS)) if close_of(day) <= moment)


def bar(world: World, day: int, shares: float = 1.0):
    """Return a bar as its source gives it. shares: how many shares one share has become."""
    names = {"entity_kind": "company", "entity_id": world.ticker, "symbol": world.ticker, "date": DAYS[day]}
    prices = dict.fromkeys(("open", "high", "low", "close"), world.traded(day) / shares)
    volume = world.volume(day)
    return names | prices | {"volume": volume and volume * shares, "available_at": close_of(day)}


def restated(world: World):
    """Yield the restated bars that a poll one day after the last split finds, each with the time of the poll."""
    split = world.splits[-1][0] if world.splits else 0
    days = {"no bar": (), "the bar before": (split - 1,), "every bar before": range(split)}
    days |= {"a bar two days before": (split - 2,), "a bar two days after": (split + 2,)}
    for day in days[world.restated]:
        shares = world.splits[-1][1] if world.restated in STRAYS else world.shares(day, split)
        yield close_of(max(day, split)) + timedelta(hours=25), bar(world, day, shares)


def statements(world: World):
    """Yield the records of a world's splits: (dataset, row)."""
    for number, (day, ratio) in enumerate(world.splits):
        reply = {"ticker": world.ticker, "execution_date": DAYS[day], "split_from": 1.0, "split_to": ratio}
        reply["split_id"] = f"{world.ticker}_{DAYS[day]}"
        closed = {"available_at": close_of(day)}
        if world.record in ("graph", "both", "two ratios"):
            yield "splits", reply | closed
        if world.record == "late":
            yield "splits", reply | {"available_at": close_of(day) + timedelta(hours=49)}
        if world.record in ("polygon", "both"):
            yield "polygon_splits", reply | closed | {"ordinal": number}
        if world.record == "two ratios":
            yield "polygon_splits", reply | closed | {"ordinal": number, "split_to": 2 * ratio}
        if world.record in OFF:
            off = DAYS[day] - timedelta(days=1)
            early = reply | {"execution_date": off, "available_at": end_of_new_york_day(off)}
            if world.record == "graph a day off":
                yield "splits", early
            else:
                yield "polygon_splits", early | {"ordinal": number}


def lake_of(question: list[World], root) -> Lake:
    """Return a lake that contains these worlds."""
    lake = Lake(root)
    publish(lake, "prices", [bar(world, day) for world in question for day in range(len(DAYS))], observed_at=OBSERVED)
    again = [reply for world in question for reply in restated(world)]
    for at in sorted({at for at, _ in again}):
        publish(lake, "prices", [row for when, row in again if when == at], observed_at=at)
    recorded = [reply for world in question for reply in statements(world)]
    for dataset in ("splits", "polygon_splits"):
        publish(lake, dataset, [row for name, row in recorded if name == dataset], observed_at=OBSERVED)
    return lake


class Judge:
    """A judge of worlds as of every instant. wrong: answers that no holder could have had, or that changed later."""

    def __init__(self, asked: list[World], lake: Lake) -> None:
        self.asked, self.lake = asked, lake
        self.wrong: list[tuple] = []
        self.compared: Counter[str] = Counter()
        self._first: dict[tuple, dict] = {}

    def judge(self) -> None:
        """Judge all answers."""
        for moment in INSTANTS:
            with connect(moment, lake=self.lake, datasets=READS) as session:
                self._pairs(session, moment)
                for world in self.asked:
                    self._series(session, world, moment)
        self._outcomes()

    def _is(self, kind: str, result: float | None, due: float, world: World, *where) -> None:
        if result is None:
            if world.certain:
                self.wrong.append((kind, "missing", due, world, *where))
            return
        self.compared[kind] += 1
        if not isclose(result, due, rel_tol=1e-6):
            self.wrong.append((kind, result, due, world, *where))

    def _pairs(self, session, moment) -> None:
        reply = [at for at in INSTANTS if at <= moment]
        question = [(world.ticker, at) for world in self.asked for at in reply]
        for query in QUERIES[:2]:
            rows = session.run(query, pairs=question).arrow().to_pylist()
            for world, own in zip(self.asked, batches(rows, len(reply)), strict=True):
                existing = [
                    (row, newest(at)) for row, at in zip(own, reply, strict=True) if row["split_index"] is not None
                ]
                for (item, before), (other, day) in pairwise(existing):
                    result = other["close"] * other["split_index"] / (item["close"] * item["split_index"])
                    self._is(query, result, world.value(before, day), world, moment)
                if world.certain and len(existing) < len(reply):
                    self.wrong.append((query, "missing", world, moment))
                for row, at in zip(own, reply, strict=True):
                    first = self._first.setdefault((query, world.ticker, at), row)
                    # Two ratios of one day are uncertain once both are public, so that an answer may disappear.
                    taken = world.record == "two ratios" and row["split_index"] is None
                    if not taken and row != first:
                        self.wrong.append((query, "changed", first, row, world, at, moment))

    def _series(self, session, world: World, moment) -> None:
        last = newest(moment)
        rows = session.run("bars_adjusted", ticker=world.ticker).arrow().to_pylist()
        if [row["date"] for row in rows] != DAYS[: last + 1]:
            self.wrong.append(("bars_adjusted", "days", world, moment))
        for day, row in enumerate(rows):
            self._is("bars_adjusted", row["close"], world.traded(day) / world.shares(day, last), world, moment, day)
        for day, start in enumerate(DAYS if moment == INSTANTS[-1] else ()):
            later = session.run("bars_adjusted", ticker=world.ticker, start_date=start).arrow().to_pylist()
            if later != rows[day:]:
                self.wrong.append(("bars_adjusted", "since", start, world, moment))
        for row in session.run("earnings_snapshot", ticker=world.ticker).arrow().to_pylist():
            if row["section"] == "prices":
                day = DAYS.index(date.fromisoformat(row["name"]))
                self._is("snapshot level", row["value"], world.traded(day) / world.shares(day, last), world, moment)
            elif row["section"] == "returns":
                since = last - int(row["name"].split()[1])
                self._is("snapshot return", row["value"] / 100 + 1, world.value(since, last), world, moment)

    def _outcomes(self) -> None:
        released = close_of(0) + timedelta(hours=1)
        events = [Event(released, world.ticker, f"0000000000-24-{n:06}") for n, world in enumerate(self.asked)]
        earnings_outcomes.build(self.lake, events, run_id="outcomes", observed_at=OBSERVED)
        by_ticker = {world.ticker: world for world in self.asked}
        with connect(lake=self.lake, open_mode=True, datasets=["earnings_outcomes"]) as session:
            for row in session.sql("FROM earnings_outcomes").arrow().to_pylist():
                world, days = by_ticker[row["ticker"]], (DAYS.index(row["base_date"]), DAYS.index(row["end_date"]))
                self._is("outcome", row["change"] / 100 + 1, world.value(*days), world, days)


def batches(rows: list, size: int) -> list[list]:
    """Return rows in batches of a size."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def share(seed: int, folder: Path) -> Tally:
    """Judge one part of all worlds; nothing is left after the last part."""
    part = worlds()[seed * SHARE : (seed + 1) * SHARE]
    if not part:
        return Tally()
    judge = Judge(part, lake_of(part, folder))
    judge.judge()
    return Tally(judge.compared.total(), counts=judge.compared, failures=judge.wrong)
