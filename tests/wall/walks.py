"""Mounted tables at many instants: moving sessions show what an oracle computes from the mounts alone.

As of each instant, one query reads all rows, revisions and gaps of a table. Each of the three must match the result of
`Due`, to the microsecond. The instants are at and around changes, and where something would change if a date were read
in another way. Most sessions move from instant to instant. One in `EVERY` instants has a separate session, and one
table in `EVERY` is judged by `mounted`.

*Truth* queries after all mounts. *Late* queries after each mount, and with `known_by` after all mounts.
"""

import random
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from pitlake.lake import Lake
from pitlake.session import Session, connect, walk
from tests.tally import Tally
from tests.wall import mounted
from tests.wall.late.looks import clock_at
from tests.wall.mounted import AFTERWARDS, LAGS, MICROSECOND, NAME, START, Poll, Statement, Table

INSTANTS, EVERY = 300, 20
BESIDE = (timedelta(), MICROSECOND, -MICROSECOND, timedelta(seconds=1), -timedelta(seconds=1))
PARTS = ("rows", "revisions", "gaps")

Row = tuple[Any, ...]


class Revision(NamedTuple):
    """A row of `revisions`. end: None in the revision at the start of a row."""

    key: tuple[Any, ...]
    values: tuple[Any, ...]
    at: Any
    end: Any
    available_at: datetime
    basis: str


class Due:
    """The expected content of a table as of any instant after these mounts, by the rules of docs/mount.md."""

    def __init__(self, table: Table, polls: list[tuple[datetime, Poll]]) -> None:
        self.table, self.revisions = table, list[Revision]()
        self.gaps: dict[tuple[str, str], datetime] = {}
        newest: dict[tuple[Statement, Any], tuple[Any, ...]] = {}
        last: datetime | None = None
        for observed, content in polls:
            future = set[str]()
            for each, values in content.items():
                for end, known_at in self._statements(each):
                    if known_at > observed:
                        future.add(self._locator(each))
                    elif newest.get((each, end)) != values:
                        is_new = (each, end) not in newest
                        available_at, basis = self._dated(each, known_at, observed, last, is_new)
                        self.revisions.append(Revision(each[0], values, each[1], end, available_at, basis))
                        newest[each, end] = values
            removed = {f"{self._locator(each)}@{_text(each[1])}" for each, _ in newest if each not in content}
            gaps = [("no longer in the table", locator) for locator in sorted(removed) if not table.partial]
            for gap in (*(("not public yet", locator) for locator in sorted(future)), *gaps):
                self.gaps.setdefault(gap, observed)
            last = observed

    def _statements(self, each: Statement) -> Iterator[tuple[Any, datetime]]:
        """Yield the revisions of a row: the end that each shows, and the instant at which it is public."""
        start, end = self.table.known_at(each[1]), self.table.end(each)
        if end is None or self.table.known_at(end) > start:
            yield None, start
        if end is not None:
            yield end, max(start, self.table.known_at(end))

    def _dated(
        self, each: Statement, known_at: datetime, observed: datetime, last: datetime | None, is_new: bool
    ) -> tuple[datetime, str]:
        """Return when new content is available, and on which basis. last: the previous mount."""
        if not is_new:
            return observed, "observed"
        first_gap = self.gaps.get(("not public yet", self._locator(each)), known_at)
        if last is None or (self.table.partial and first_gap >= known_at):
            return known_at, "source_date"
        if self.table.trusts_dates and known_at > last:
            return known_at, "between_polls"
        return observed, "observed"

    def as_of(self, as_of: datetime) -> dict[str, Counter[Row]]:
        """Return the public revisions and gaps."""
        return {
            "revisions": Counter(tuple(each) for each in self.revisions if each.available_at <= as_of),
            "gaps": Counter((*gap, at) for gap, at in self.gaps.items() if at <= as_of),
        }

    def newest(self, as_of: datetime) -> dict[Any, set[Row]]:
        """Return the public revisions of each key that may be shown as newest: any of equally new ones."""
        result: dict[Any, set[Row]] = {}
        for each in sorted((each for each in self.revisions if each.available_at <= as_of), key=_age):
            before = result.get(each.key)
            is_as_new = before is not None and _age(Revision(*next(iter(before)))) == _age(each)
            result[each.key] = {*(before if is_as_new else ()), tuple(each)}
        return result

    def mistakes(self, as_of: datetime, answer: dict[str, Counter[Row]]) -> Iterator[tuple[str, str]]:
        """Yield the parts of an answer that differ from the expected content, with the difference."""
        for part, due in self.as_of(as_of).items():
            if answer[part] != due:
                yield part, f"gone {[*(due - answer[part])][:2]}, new {[*(answer[part] - due)][:2]}"
        newest, rows = self.newest(as_of), answer["rows"]
        wrong = [row for row in rows if row not in newest.get(row[0], ())]
        if wrong or rows.total() != len(newest):
            yield "rows", f"{rows.total()} for {len(newest)} keys, wrong {wrong[:2]}"

    def instants(self, rng: random.Random, count: int, first: datetime, last: datetime) -> list[datetime]:
        """Return at most `count` instants of a range: around those of rows and gaps, and around midnights near them."""
        dates = {at for each in self.revisions for at in (each.at, each.end) if at is not None}
        instants = {*self.gaps.values(), *(each.available_at for each in self.revisions)}
        instants |= {self.table.known_at(at) - lag for at in dates for lag in {timedelta(), LAGS[self.table.lag]}}
        zones = (ZoneInfo(self.table.zone), ZoneInfo("UTC"))
        days = {(at.astimezone(zone).date() + timedelta(days=more), zone)
                for at in instants for zone in zones for more in (0, 1)}  # fmt: skip
        midnights = {datetime.combine(day, time(), zone).astimezone(START.tzinfo) for day, zone in days}
        choices = [sorted({at + by for at in ats for by in BESIDE if first <= at + by < last})
                   for ats in (instants, midnights)]  # fmt: skip
        sizes = (count * 4 // 5, count // 5)
        samples = (rng.sample(each, min(len(each), size)) for each, size in zip(choices, sizes, strict=True))
        return sorted({at for each in samples for at in each})

    def _locator(self, each: Statement) -> str:
        return f"{NAME}#{'/'.join(each[0])}"


def _age(each: Revision) -> tuple[Any, datetime]:
    return each.at, each.available_at


def _text(at: Any) -> str:
    """Return a date as SQL prints it."""
    if not isinstance(at, datetime):
        return str(at)
    fraction = f".{at.microsecond:06}".rstrip("0") if at.microsecond else ""
    return f"{at:%Y-%m-%d %H:%M:%S}{fraction}+00"


def truth(seed: int, scratch: Path, count: int = INSTANTS) -> Tally:
    """Judge one table after all its mounts."""
    if seed % EVERY == 0:
        return mounted.truth(seed, scratch, moments=1, count=40)
    table, tally = Table(seed), Tally()
    lake = table.mount(scratch, table.polls, lambda *_: None)
    due = Due(table, table.polls)
    instants = due.instants(table.rng, count, START - timedelta(days=9), AFTERWARDS)
    _judge(tally, due, lake, instants)
    return tally


def late(seed: int, scratch: Path, count: int = INSTANTS) -> Tally:
    """Judge one table after each mount, and after all mounts with `known_by`."""
    if seed % EVERY == 0:
        return mounted.late(seed, scratch, moments=1, count=20)
    table, tally = Table(seed), Tally()
    spans: list[tuple[Due, list[datetime]]] = []

    def ask(lake: Lake, place: int) -> None:
        due = Due(table, table.polls[: place + 1])
        observed = [at for at, _ in table.polls]
        here, after = observed[place], [*observed, AFTERWARDS][place + 1]
        instants = due.instants(table.rng, count // len(observed), here, after)
        _judge(tally, due, lake, due.instants(table.rng, EVERY, START - timedelta(days=9), here) + instants)
        # The first mount commits its contract at its instant, and its rows a microsecond later.
        spans.append((due, [at for at in instants if at > here]))

    lake = table.mount(scratch, table.polls, ask)
    for due, instants in spans:
        _judge(tally, due, lake, instants, known_by=True)
    return tally


def _judge(tally: Tally, due: Due, lake: Lake, instants: list[datetime], *, known_by: bool = False) -> None:
    """Compare the content shown at each of these instants with the expected content."""
    table, single = due.table, set(due.table.rng.sample(instants, -(-len(instants) // EVERY)))
    options: dict[str, Any] = {"lake": lake, "datasets": [NAME], "isolation": table.isolation()}
    with clock_at(AFTERWARDS):
        bounds = {"known_by": instants[-1]} if known_by and instants else {}
        for session in walk([at for at in instants if at not in single], **options, **bounds):
            _compare(tally, due, session)
        for as_of in single:
            bounds = {"known_by": as_of} if known_by else {}
            with connect(as_of, **options, **bounds) as session:
                _compare(tally, due, session)


def _compare(tally: Tally, due: Due, session: Session) -> None:
    columns = ", ".join(f'"{name}"' for name in due.table.columns)
    clocks = f'"at", {"ends" if due.table.has_ends else "NULL"} AS ends, available_at, available_at_basis'
    parts = (f"SELECT '{part}' AS part, {columns}, {clocks}, NULL AS locator FROM {view}"
             for part, view in zip(PARTS, (NAME, f"{NAME}_revisions"), strict=False))  # fmt: skip
    gaps = "SELECT 'gaps' AS part, available_at, reason AS available_at_basis, locator FROM gaps"
    answer: dict[str, Counter[Row]] = {part: Counter() for part in PARTS}
    keys = len(due.table.keys)
    for part, *row, locator in session.sql(f"{' UNION ALL '.join(parts)} UNION ALL BY NAME {gaps}").rows():
        *values, at, end, available_at, basis = row
        content = (basis, locator, available_at)
        if part != "gaps":
            content = (tuple(values[:keys]), tuple(values[keys:]), at, end, available_at, basis)
        answer[part][content] += 1
    tally.compared, tally.answered = tally.compared + len(PARTS), tally.answered + sum(map(bool, answer.values()))
    for part, mistake in due.mistakes(session.as_of, answer):
        tally.failures.append(f"{part} as of {session.as_of.isoformat()}, seed {due.table.seed}: {mistake}")
