"""Random paths of agent, reviewer, PM, code, time and kill switch: only the PM and code change held positions.

`make campaign NAME=paths N=10000` walks 10,000 paths. Exits must match the exits of an oracle that knows the prices.
"""

import random
import shutil
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from pathlib import Path
from unittest import mock

import pytest

import forge.memory.approvals
from forge.agent.tools.write import WriteTool
from forge.core.clock import Simulated
from forge.memory import Memory
from forge.memory.approvals import approve, change_held, reject
from forge.memory.book import held_in, remembered_book
from forge.memory.guardrails import Guardrails
from forge.memory.halts import switch
from forge.providers.base import At
from forge.records import Constraints, Halt, content_hash, render
from forge.tracking import paths, trades
from pitlake.errors import BadInput
from pitlake.exchange import session
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.world import BOOK, FAST, NEW_EXPRESSION, NEW_VIEW, reviewed, turn, wrote
from tests.tally import Tally

BASE = replace(BOOK, gross=70.0, net=0.0, duration=0.0, factor_exposures={"rates": 0.0})
PATHS, STEPS, MOST = 100, 12, 4
STATUSES = ("draft", "proposed", "proposed", "proposed", "active", "review_required", "rejected", "closed", "applied")
GOOD = ("approve", "approve_with_notes")
FIRST = date(2014, 5, 1)
DAYS = [day for number in range(40) if session(day := FIRST + timedelta(days=number))]
CLOSES = dict(zip(DAYS, (100, 102, 97, 104, 99, 93, 108, 101, 95, 106, 98, 91, 110, 100) * 2, strict=False))
"""The only price of each day, so that an exit has exactly one possible price."""


def at_hour(day, hour):
    return datetime(day.year, day.month, day.day, hour, tzinfo=timezone.utc)


class Room:
    """One path: a memory, and its expected positions by id, terms, limit, kill switch and day."""

    def __init__(self, memory, lake, seed):
        self.memory, self.lake, self.rng, self.calls = memory, lake, random.Random(f"held/{seed}"), 0
        self.held, self.limit, self.halts, self.view_open, self.day = {}, 200.0, [], True, 0
        self.terms, self.seen = {}, Counter()
        self.look()
        self.reviews = {(each.id, content_hash(each)) for each in self.texts.values()}

    def call(self):
        self.calls += 1
        return f"c{self.calls}"

    def now(self):
        """Move the clock by a second, so that every earlier write is visible, and return the instant."""
        clock = self.memory.journal.clock
        clock.move(clock.now() + timedelta(seconds=1))
        return clock.now()

    def turn(self, *args, **question):
        return turn(self.memory, *args, at=self.now(), **question)

    def look(self):
        self.remembered = self.turn().remembered
        rows = [self.remembered.newest(path) for path in self.remembered.paths("/memory/expressions/")]
        self.texts = {record.id: record for record in map(self.remembered.record, rows)}

    @property
    def halted(self):
        return bool(self.halts) and self.halts[-1][1] is None

    def one(self, *statuses):
        """Return a random Expression with one of these statuses, or any Expression if there is none."""
        fitting = [name for name in sorted(self.texts) if self.texts[name].status in statuses]
        return self.texts[self.rng.choice(fitting or sorted(self.texts))]

    def drawn(self):
        direction, low, high = self.rng.choice((("long", "stop", "target"), ("short", "target", "stop")))
        levels = {low: self.rng.choice(("30", "94", "98", "900")), high: self.rng.choice(("103", "107", "140"))}
        return replace(
            NEW_EXPRESSION, instrument="QBG", status=self.rng.choice(STATUSES), direction=direction,
            notional=self.rng.choice((20.0, 60.0, 90.0)), **levels,
            factor_exposures={"rates": self.rng.choice((1.0, 12.0))}, pnl=self.rng.choice((None, None, 500.0)),
            exit_reason=self.rng.choice(("", "", "target")), adjusts=self.rng.choice(("", "", "", "E-001")),
        )  # fmt: skip

    def agent_writes(self):
        names = [*self.texts, "new"]
        name = self.rng.choice(names if len(names) > MOST else [*names, "new"])
        drawn = replace(self.drawn(), id=name)
        if self.rng.random() < 0.5:
            plain = {"pnl": None, "exit_reason": "", "adjusts": "", "status": "proposed"}
            drawn = replace(drawn, **plain)
        path = f"/memory/expressions/{name}.md"
        WriteTool(self.turn()).execute(path, render(drawn), call_id=self.call())
        return set()

    def agent_flags(self):
        item = self.one()
        text = render(replace(item, status="review_required"))
        WriteTool(self.turn()).execute(f"/memory/expressions/{item.id}.md", text, call_id=self.call())
        return set()

    def reviewer(self):
        item, verdict = self.one("proposed"), self.rng.choice((*GOOD, "approve", "revise"))
        reviewed(self.memory, item, verdict)
        (self.reviews.add if verdict in GOOD else self.reviews.discard)((item.id, content_hash(item)))
        return set()

    def pm_approves(self):
        item = self.one("proposed", "review_required")
        sha256 = content_hash(item) if self.rng.random() < 0.9 else "0" * 64
        try:
            approve(self.memory, item.id, sha256, "pm", Guardrails(), confirmed=True)
        except BadInput:
            return set()
        self.seen["approved"] += 1
        assert not self.halted, "approved while halted"
        assert (item.id, content_hash(item)) in self.reviews, "approved without a review of exactly this"
        assert self.view_open, "approved for a View that is over"
        if item.adjusts:
            assert item.adjusts in self.held, "adjusted what is not held"
            return {item.adjusts}
        self.held[item.id] = content_hash(item)
        if not item.exit_reason:
            assert self.gross() <= self.limit, "approved beyond the limit"
        return {item.id}

    def pm_rejects(self):
        item = self.one("active")
        try:
            reject(self.memory, item.id, "no", "pm", Guardrails())
        except BadInput:
            return set()
        assert item.id not in self.held, "rejected what is held"
        return set()

    def pm_changes(self):
        item = self.one("active")
        terms = self.rng.choice(
            (
                {"stop": "33"}, {"stop": "96"}, {"target": "105"}, {"exit_reason": "thesis"},
                {"expires": date(2044, 1, 4)},
            )
        )  # fmt: skip
        try:
            change_held(self.memory, item.id, "pm", Guardrails(), terms)
        except BadInput:
            return set()
        assert item.id in self.held, "changed what is not held"
        self.seen["changed"] += 1
        return {item.id}

    def pm_constrains(self):
        self.limit = self.rng.choice((100.0, 150.0, 200.0))
        record = Constraints(id="constraints", max_gross=self.limit)
        wrote(self.turn("pm", actor="pm"), "/portfolio/constraints.md", record, self.call())
        return set()

    def pm_switches(self):
        at, status = self.now(), "released" if self.halted else "halted"
        switch(self.memory, Halt(id="halt", by="pm", reason="drill", status=status))
        if self.halted:
            self.halts[-1] = self.halts[-1][0], at
        else:
            self.halts.append((at, None))
        return set()

    def morning_comes(self):
        if self.memory.journal.clock.now() > at_hour(DAYS[self.day], 20):
            self.day += 1
            self.memory.journal.clock.move(at_hour(DAYS[self.day], 12))
        return set()

    def day_ends(self):
        """Let up to two days pass; check what code closes and return the ids."""
        self.morning_comes()
        self.day += self.rng.choice((0, 0, 1, 2))
        evening = at_hour(DAYS[self.day], 21)
        self.memory.journal.clock.move(max(evening, self.memory.journal.clock.now()))
        due = {name: left for name in self.held if (left := self.exit_of(name))}
        outcomes, gaps = trades.close_exits(self.memory, At(as_of=evening, lake=self.lake))
        assert gaps == []
        assert sorted(each.expression for each in outcomes) == sorted(due), "closed others than those that were due"
        self.look()
        for name, (reason, pnl) in due.items():
            closed = self.texts[name]
            assert (closed.status, closed.exit_reason) == ("closed", reason), f"{name} left otherwise"
            assert closed.pnl == pytest.approx(pnl, abs=1e-7), f"the P&L of {name}"
            self.held.pop(name)
            self.seen[f"closed by {reason}"] += 1
        return set(due)

    def exit_of(self, name):
        """Return the reason and P&L of a position's exit by now, from prices and dated approvals, or None."""
        since, first = self.terms[name][0]
        halted = lambda moment: any(here <= moment and (there is None or moment < there) for here, there in self.halts)  # noqa: E731
        days = [day for day in DAYS[: self.day + 1] if session(day).open >= since]
        while days and halted(session(days[0]).open):
            days.pop(0)
        side = -1 if first.direction == "short" else 1
        for day in days:
            text = next(text for at, text in reversed(self.terms[name]) if at <= session(day).open)
            gone = side * (CLOSES[day] / CLOSES[days[0]] - 1) * first.notional
            if text.stop and side * (CLOSES[day] - float(text.stop)) <= 0:
                return "stop", gone
            if text.target and side * (CLOSES[day] - float(text.target)) >= 0:
                return "target", gone
            if text.expires and day >= text.expires:
                return text.exit_reason or "time", gone
        newest = self.terms[name][-1][1]
        over = newest.expires and newest.expires < DAYS[self.day]
        return (newest.exit_reason or "time", 0.0) if over else None

    def agent_invalidates(self):
        if self.view_open and self.rng.random() < 0.2:
            over = replace(NEW_VIEW, id="V-001", status="invalidated")
            wrote(self.turn(), "/memory/views/V-001.md", over, self.call())
            self.view_open = False
        return set()

    def gross(self):
        """Return the expected gross exposure from the current Expressions."""
        return BASE.gross + sum(abs(self.texts[name].notional) for name in self.held)

    def step(self):
        act = self.rng.choice(
            (
                self.agent_writes, self.agent_writes, self.agent_flags, self.reviewer, self.reviewer,
                self.pm_approves, self.pm_approves, self.pm_rejects, self.pm_changes, self.pm_changes,
                self.pm_constrains, self.pm_switches, self.morning_comes, self.day_ends, self.day_ends, self.day_ends,
                self.agent_invalidates,
            )
        )  # fmt: skip
        before = dict(self.held)
        changed = act()
        self.look()
        texts = self.texts
        names = {path.rpartition("/")[2].removesuffix(".md") for path in held_in(self.remembered)}
        assert names == set(self.held), f"{act.__name__}: held {names}, not {set(self.held)}"
        for name in self.held:
            if name not in changed:
                assert content_hash(texts[name]) == before[name], f"{act.__name__} changed {name}"
            else:
                self.terms.setdefault(name, []).append((self.memory.journal.clock.now(), texts[name]))
            self.held[name] = content_hash(texts[name])
        book = remembered_book(self.remembered)
        assert book.gross == pytest.approx(self.gross()), f"{act.__name__}: gross"
        rates = sum(texts[name].factor_exposures["rates"] for name in self.held)
        assert book.factor_exposures["rates"] == pytest.approx(rates), f"{act.__name__}: factors"


def walked(count, first=0):
    """Walk `count` paths; return how often each event happened."""
    seen = Counter()
    # The lake's answers are the same on every path, so each query runs only once.
    bars = mock.patch.object(trades, "traded_bars", lru_cache(maxsize=None)(trades.traded_bars))
    with tempfile.TemporaryDirectory(dir=FAST) as name, bars:
        root = Path(name)
        lake = root / "lake"
        rows = [
            {"entity_kind": "company", "entity_id": "1", "symbol": "QBG", "date": day, "volume": 1.0}
            | dict.fromkeys(("open", "high", "low", "close"), float(price))
            | {"available_at": session(day).close}
            for day, price in CLOSES.items()
        ]
        put_rows(Lake(lake), "prices", *rows)
        with closing(Memory(root / "start" / "forge", clock=Simulated("held", at_hour(FIRST, 12)))) as memory:
            wrote(turn(memory, "pm", actor="pm"), "/portfolio/state.md", BASE, "book")
            memory.journal.clock.move(at_hour(FIRST, 12) + timedelta(minutes=1))
            fs = turn(memory)
            wrote(fs, "/memory/views/new.md", NEW_VIEW, "view")
            traded = replace(NEW_EXPRESSION, status="proposed", stop="94", instrument="QBG")
            for number, (notional, target) in enumerate(((60.0, "107"), (90.0, "103")), start=1):  # sum over the limit
                proposal = replace(traded, notional=notional, target=target)
                wrote(fs, "/memory/expressions/new.md", proposal, f"e{number}")
                reviewed(memory, replace(proposal, id=f"E-{number:03d}"))
        for seed in range(first, first + count):
            shutil.copytree(root / "start", root / "path")
            clock = Simulated("held", at_hour(FIRST, 12) + timedelta(minutes=2))
            with closing(Memory(root / "path" / "forge", clock=clock)) as memory:
                room = Room(memory, lake, seed)
                for step in range(STEPS):
                    try:
                        room.step()
                    except AssertionError as problem:
                        raise AssertionError(f"path {seed}, step {step}: {problem}") from problem
                seen += room.seen + Counter(held=len(room.held))
            shutil.rmtree(root / "path")
    return seen


def test_only_the_pm_and_code_change_or_close_positions_on_random_paths():
    seen = walked(60)
    exits = seen["closed by stop"], seen["closed by target"]
    assert min(seen["approved"], seen["changed"], sum(exits)) > 2, seen
    assert min(exits) > 0, seen


EXIT = paths._exit
MUTANTS = {
    "an approval is not checked": (forge.memory.approvals, "_check", lambda candidate, sha256, confirmed: None),
    "limits ignore what is approved": (forge.memory.approvals, "with_approved", lambda portfolio, positions: portfolio),
    "a plain write changes a position": (
        "forge.memory.effects.Writer", "_check_agent", lambda self, record, path: None,
    ),
    "a stop is not followed": (
        paths, "_exit", lambda side, bar, target, stop, until: EXIT(side, bar, target, None, until),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_random_paths_detect_each_mutant(name, monkeypatch):
    where, what, mutant = MUTANTS[name]
    if isinstance(where, str):
        monkeypatch.setattr(f"{where}.{what}", mutant)
    else:
        monkeypatch.setattr(where, what, mutant)
    with pytest.raises((AssertionError, KeyError)):
        walked(60)


def share(seed, _folder):
    """Walk some paths."""
    return Tally(PATHS, counts=walked(PATHS, seed * PATHS))
