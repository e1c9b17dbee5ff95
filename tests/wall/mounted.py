"""Mounted tables with random contracts under truncation, late polls and attacks.

*Truth.* The answer as of T is the same on two other lakes: one whose table never had later rows or later changes to
earlier rows, and one with different later rows and changes.

*Late.* The answer as of T before any later mount is the same as with `known_by=T` after all mounts. As of an instant
just before a mount, it is also the same without `known_by`.

*Attacks.* Two lakes differ in what was mounted after T: new rows, gaps and changed content of earlier rows, all with
canaries. No hostile statement shows a canary, or has different answers.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import date, datetime, time, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from pitlake import connect
from pitlake.lake import Lake
from pitlake.lake.storage.manifest import Snapshot, TableState
from pitlake.session import Catalogue
from tests.tally import Tally
from tests.wall import fuzz, statements
from tests.wall.distinguish import FUTURES, Report, distinguish
from tests.wall.late.looks import clock_at
from tests.wall.sealed import Sealed, answer_text
from tests.wall.worlds import CANARY, World, master, restored

NAME = "table_of_ours"
START, END = datetime(2024, 1, 1, tzinfo=timezone.utc), datetime(2024, 4, 1, tzinfo=timezone.utc)
AFTERWARDS = END + timedelta(days=200)
MICROSECOND = timedelta(microseconds=1)
LAGS = {"": timedelta(), "1 day": timedelta(days=1), "90 minutes": timedelta(minutes=90)}
MIDNIGHTS = ("midnights without a zone", "midnights of the zone", "midnights of UTC")
"""The ways in which a table may store days as midnights."""
ZONES = ("America/New_York", "Asia/Tokyo", "UTC")
MOMENTS, QUESTIONS = 4, 80
STATEMENTS, EVERY, A_SESSION = 320, 8, 10
LATER_ROWS = 40
VALUES: tuple[tuple[pa.DataType, Callable[[random.Random], Any]], ...] = (
    (pa.string(), lambda rng: rng.choice(("guidance", "margin", "", "ä", "1"))),
    (pa.float64(), lambda rng: round(rng.uniform(-9, 9), 2)),
    (pa.int64(), lambda rng: rng.randrange(-3, 4)),
    (pa.bool_(), lambda rng: rng.random() < 0.5),
    (pa.date32(), lambda rng: date(2024, 1, 1) + timedelta(days=rng.randrange(60))),
)

Statement = tuple[tuple[Any, ...], datetime | date]  # the values of the key, and the date in the table
Poll = dict[Statement, tuple[Any, ...]]


class MountedTally(Tally):
    """A tally of compared pairs of answers."""

    def same(self, what: str, as_of: datetime, seed: int, sql: str, answers: tuple[str, str]) -> None:
        """Compare two answers."""
        self.compared += 1
        self.answered += not answers[0].startswith("error")
        if answers[0] != answers[1]:
            self.failures.append(f"{what} as of {as_of.isoformat()}, seed {seed}: {sql}")


class Table:
    """A random table with its contract, and its content at each mount."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = rng = random.Random(f"mounted/{seed}")
        self.keys = [f"k{number}" for number in range(rng.randrange(1, 4))]
        self.kinds = [rng.choice(VALUES) for _ in range(rng.randrange(1, 5))]
        self.lag, self.zone = rng.choice([*LAGS]), rng.choice(ZONES)
        self.stated = rng.choice(("instants", "instants", "days", *MIDNIGHTS))
        self.partial, self.has_ends = rng.random() < 0.3, random.Random(f"ends/{seed}").random() < 0.4
        self.columns = [*self.keys, *(f"v{number}" for number in range(len(self.kinds)))]
        self.trusts_dates = seed % 2 == 0
        self.polls = [*self._polls()]

    def known_at(self, statement: datetime | date) -> datetime:
        """Return the instant at which a row of that date is public."""
        if not isinstance(statement, datetime):
            zones = {self.zone, "UTC"} if self.stated == "midnights of UTC" else {self.zone}
            statement = max(datetime.combine(statement + timedelta(days=1), time(), ZoneInfo(zone)) for zone in zones)
        return statement.astimezone(timezone.utc) + LAGS[self.lag]

    @property
    def dated(self) -> bool:
        """Return whether the table's dates are days."""
        return self.stated != "instants"

    def end(self, statement: Statement) -> datetime | date | None:
        """Return the end of a row as written in the table; None for a row without an end."""
        rng = random.Random(f"end/{self.seed}/{statement}")
        if not self.has_ends or (statement[0][0] != "W" and rng.random() < 0.4):
            return None
        if self.dated:  # An odd number of days after an even day, so that no two dates of a key are equal.
            return statement[1] + timedelta(days=1 + 2 * (self.seed % 16))
        return statement[1] + timedelta(microseconds=rng.randrange(1, 40 * 86_400 * 10**6))

    def mount(self, root: Path, polls: list[tuple[datetime, Poll]], then: Callable[[Lake, int], None]) -> Lake:
        """Mount these contents one after the other, and call `then` after each mount."""
        lake = Lake(root)
        options = {"key": self.keys, "available_at": "at", "timezone": self.zone, "partial": self.partial}
        options |= {"trust_dates": self.trusts_dates, "until": "ends" if self.has_ends else None}
        for place, (observed, content) in enumerate(polls):
            with clock_at(observed):
                lake.mount(self._frame(content), NAME, **options, lag=self.lag or None)
            then(lake, place)
        return lake

    def moments(self, count: int, place: int | None = None) -> Iterator[datetime]:
        """Yield instants at, or a microsecond away from, mounts and the dates of rows that were mounted later, with and
        without the lag. place: only between that mount and the next.
        """
        existing = [at for observed, content in self.polls for _, claim in content
                 if (at := self.known_at(claim)) <= observed]  # fmt: skip
        claimed_at = [at - lag for at in existing for lag in {timedelta(), LAGS[self.lag]}]
        observed = [at for at, _ in self.polls]
        first, last = START, AFTERWARDS
        if place is not None:
            first, last = observed[place], [*observed, AFTERWARDS][place + 1]
        choices = [at for at in (*claimed_at, *observed) if first < at < last] or [first + (last - first) / 2]
        for _ in range(count):
            at = self.rng.choice((*choices, last)) + self.rng.choice((-1, 0, 0, 1)) * MICROSECOND
            yield min(max(at, first + MICROSECOND), last - MICROSECOND)

    def until(self, as_of: datetime) -> list[tuple[datetime, Poll]]:
        """Return the mounts without rows that became public, or changes that were mounted, after an instant.

        Rows dated after their mount stay, because each is a gap from that mount on. The content of a row takes effect
        at the first mount after its date.
        """
        polls, contents = [], Poll()
        for observed, content in self.polls:
            if observed > as_of:
                past = {each: values for each, values in content.items()
                        if not as_of < self.known_at(each[1]) <= observed}  # fmt: skip
                polls.append((observed, past | {each: contents[each] for each in past.keys() & contents.keys()}))
            else:
                polls.append((observed, content))
            public = {each: values for each, values in content.items() if self.known_at(each[1]) <= observed}
            contents = public | contents if observed > as_of else contents | public
        return polls

    def otherwise(self, as_of: datetime, canary: str = "") -> list[tuple[datetime, Poll]]:
        """Return the mounts with different later rows and changes. canary: a string in each of these."""
        seen: set[Statement] = set()
        polls = []
        for observed, past in self.until(as_of):
            content = {**past}
            if observed > as_of:
                for each in sorted(seen & past.keys(), key=repr):
                    if self.rng.random() < 0.3:
                        content[each] = self._values(canary)
                for _ in range(LATER_ROWS if canary else self.rng.randrange(6)):
                    new = self._later(as_of, canary) if canary else self._statement()
                    if as_of < self.known_at(new[1]) and (canary or self.known_at(new[1]) <= observed):
                        content[new] = self._values(canary)
            seen |= {each for each in past if self.known_at(each[1]) <= observed}
            polls.append((observed, content))
        return polls

    def isolation(self) -> str:
        """Return how the next sessions are isolated."""
        return self.rng.choice(("process", "in_process", "in_process"))

    def _polls(self) -> Iterator[tuple[datetime, Poll]]:
        oldest = START - timedelta(days=2, hours=13)
        first = {(("W",) * len(self.keys), oldest.date() if self.dated else oldest): self._values()}  # never empty
        content = {self._statement(): self._values() for _ in range(self.rng.randrange(25))}
        observed = START + timedelta(days=self.rng.randrange(1, 60))
        for _ in range(self.rng.randrange(1, 5)):
            yield observed, first | content
            observed += timedelta(microseconds=self.rng.randrange(10**6, 20 * 86_400 * 10**6))
            remaining = [each for each in content if self.rng.random() < 0.9]
            content = {each: content[each] if self.rng.random() < 0.8 else self._values() for each in remaining}
            content |= {self._statement(): self._values() for _ in range(self.rng.randrange(8))}

    def _statement(self) -> Statement:
        at = START + timedelta(microseconds=self.rng.randrange(int((END - START).total_seconds() * 10**6)))
        key = tuple(self.rng.choice("XYZ") for _ in self.keys)
        return key, self._date(at)

    def _date(self, at: datetime) -> datetime | date:
        day = at.date()
        return at if not self.dated else day - timedelta(days=day.toordinal() % 2 * self.has_ends)

    def _later(self, as_of: datetime, canary: str) -> Statement:
        """Return a row dated after T, mostly just after it, with a new key or an existing one."""
        at = as_of - LAGS[self.lag] + timedelta(microseconds=int(10 ** self.rng.uniform(0, 13)))
        key = tuple(self.rng.choice(("X", "Y", "Z", canary)) for _ in self.keys)
        return key, self._date(at)

    def _values(self, canary: str = "") -> tuple[Any, ...]:
        values = (None if self.rng.random() < 0.1 else make(self.rng) for _, make in self.kinds)
        return tuple(f"{value} {canary}" if canary and isinstance(value, str) else value for value in values)

    def _stored(self, at: datetime | date | None) -> datetime | date | None:
        """Return a date as the table stores it."""
        if at is None or self.stated not in MIDNIGHTS:
            return at
        zone = {"midnights without a zone": None, "midnights of the zone": ZoneInfo(self.zone)}
        return datetime.combine(at, time(), zone.get(self.stated, timezone.utc))

    def _frame(self, content: Poll) -> pa.Table:
        rows = [
            dict(zip(self.columns, (*key, *values), strict=True), at=self._stored(at), ends=self._stored(end))
            for (key, at), values in content.items()
            for end in (self.end((key, at)),)
        ]
        types = [pa.string() for _ in self.keys] + [kind for kind, _ in self.kinds]
        zone = {"midnights without a zone": None, "midnights of the zone": self.zone}.get(self.stated, "UTC")
        statement = pa.date32() if self.stated == "days" else pa.timestamp("us", zone)
        instants = [("at", statement), *([("ends", statement)] if self.has_ends else [])]
        schema = pa.schema([*zip(self.columns, types, strict=True), *instants])
        self.rng.shuffle(rows)
        return pa.Table.from_pylist(rows, schema=schema)


def truth(seed: int, scratch: Path, moments: int = MOMENTS, count: int = QUESTIONS) -> MountedTally:
    """Judge the truncation of one table. count: the number of questions as of each moment."""
    table, tally = Table(seed), MountedTally()
    whole = table.mount(scratch / "whole", table.polls, _nothing)
    for number, as_of in enumerate(table.moments(moments)):
        others = (table.until(as_of), table.otherwise(as_of))
        lakes = [table.mount(scratch / f"{number}-{place}", polls, _nothing) for place, polls in enumerate(others)]
        question = [*_questions(table, number, count)]
        isolation = table.isolation()
        expected, *answers = (_answers(lake, as_of, question, AFTERWARDS, isolation) for lake in (whole, *lakes))
        for what, result in zip(("in a lake that ends there", "with a different future"), answers, strict=True):
            for sql, *pair in zip(question, expected, result, strict=True):
                tally.same(what, as_of, seed, sql, tuple(pair))
    return tally


def late(seed: int, scratch: Path, moments: int = MOMENTS, count: int = QUESTIONS) -> MountedTally:
    """Judge the answers from a table's lake before and after its later mounts."""
    table, tally = Table(seed), MountedTally()
    first: list[tuple[datetime, bool, str, list[str], list[str]]] = []

    def ask(lake: Lake, place: int) -> None:
        here = table.polls[place][0]
        settled = [] if table.partial else [here - MICROSECOND]  # a partial table may contain old rows late
        for as_of in (*settled, *table.moments(moments, place)):
            request, isolation = [*_questions(table, len(first), count)], table.isolation()
            answers = _answers(lake, as_of, request, max(as_of, here + MICROSECOND), isolation)
            first.append((as_of, as_of < here, isolation, request, answers))

    lake = table.mount(scratch / "late", table.polls, ask)
    for as_of, is_settled, isolation, question, answers in first:
        options = {} if is_settled else {"known_by": as_of}
        again = _answers(lake, as_of, question, AFTERWARDS, isolation, **options)
        for sql, *pair in zip(question, answers, again, strict=True):
            tally.same("after later mounts", as_of, seed, sql, tuple(pair))
    return tally


def attack(seed: int, scratch: Path, count: int = STATEMENTS, every: int = EVERY) -> Report:
    """Attack one table. count: generated statements of each kind. every: run one in `every` of the written attacks, and
    one in `10 * every` of the function calls.
    """
    table = Table(seed)
    table.polls.append((END + timedelta(days=30), table.polls[-1][1]))  # so that there is a mount after every T
    as_of = next(at for at in table.moments(1_000) if at < END)
    worlds = [
        _world(table.mount(scratch / str(future), table.otherwise(as_of, f"{CANARY}{future}"), _nothing))
        for future in FUTURES
    ]
    masters = [master(world) for world in worlds]
    world = replace(restored(scratch / "lake", masters[0]), as_of=as_of)
    paths = sorted({f"{world.root}/{path}" for files, _ in masters for path in files})
    columns_of, catalogue = _columns_of(table), Catalogue(Lake(scratch / "1").contracts())
    question = [
        *[*fuzz.written(world, (NAME,))][seed % every :: every],
        *[*fuzz.called(world, NAME)][seed % (10 * every) :: 10 * every],
        *fuzz.generated(world, count, seed * count, paths, columns_of),
        *(
            (f"select:{place}", statements.select(place, columns_of))
            for place in range(seed * count, (seed + 1) * count)
        ),
    ]
    return distinguish(
        world.root,
        lambda world: Sealed(world, as_of, datasets=(NAME,), catalogue=catalogue),
        lambda world: question,
        a_session=A_SESSION,
        masters=masters,
    )


def _world(lake: Lake) -> World:
    """Return a lake whose files are renamed by their order, so that files up to T have the same names in all worlds."""
    snapshot, tables = lake.snapshot(), {}
    for name in snapshot.tables:
        files = sorted(snapshot.files(name), key=lambda file: (file.hi, file.lo))
        names = [Path(file.path).with_name(f"part-{number}.parquet") for number, file in enumerate(files)]
        for file, path in zip(files, names, strict=True):
            Path(file.path).rename(path)
        tables[name] = TableState(tuple(replace(file, path=str(path)) for file, path in zip(files, names, strict=True)))
    return World(lake.root, Snapshot(snapshot.version, tables))


def _nothing(lake: Lake, place: int) -> None:
    """Do nothing after a mount."""


def _columns_of(table: Table) -> dict[str, tuple[str, ...]]:
    return {NAME: ("available_at", "available_at_source", "available_at_basis", *table.columns, "at", "evidence")}


def _questions(table: Table, number: int, count: int) -> Iterator[str]:
    first = (table.seed * 1_000 + number) * QUESTIONS
    for place in range(first, first + count):
        yield statements.select(place, _columns_of(table))


def _answers(
    lake: Lake, as_of: datetime, question: list[str], now: datetime, isolation: str, **options: Any
) -> list[str]:
    with (
        clock_at(max(now, as_of)),
        closing(connect(as_of, lake=lake, datasets=[NAME], isolation=isolation, **options)) as session,
    ):
        return [answer_text(session, sql)[0] for sql in question]
