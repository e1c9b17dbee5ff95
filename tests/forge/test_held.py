"""Random paths over agent, reviewer, PM, code and the kill switch: what is held changes by the PM and by code alone.

`python -m tests.forge.test_held 10000` walks so many paths.
"""

import random
import sys
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

import forge.memory.approvals
from forge.agent.tools.write import WriteTool
from forge.memory import Memory
from forge.memory.approvals import approve, change_held, reject
from forge.memory.book import held_in, remembered_book
from forge.memory.guardrails import Guardrails
from forge.memory.halts import switch
from forge.records import Constraints, Halt, content_hash, render
from pitlake.errors import BadInput
from tests.forge.world import BOOK, NEW_EXPRESSION, NEW_VIEW, reviewed, turn, wrote

FAST = "/dev/shm" if Path("/dev/shm").is_dir() else None
BASE = replace(BOOK, gross=50.0, net=0.0, duration=0.0, factor_exposures={"rates": 0.0})
STEPS, MOST = 12, 4
pytestmark = pytest.mark.slow
STATUSES = ("draft", "proposed", "proposed", "proposed", "active", "review_required", "rejected", "closed", "applied")
GOOD = ("approve", "approve_with_notes")


class Room:
    """One path: a memory, and beside it what has to be held, by id, with limits and switch."""

    def __init__(self, memory, seed):
        self.memory, self.rng, self.calls = memory, random.Random(f"held/{seed}"), 0
        self.held, self.limit, self.halted, self.view_open = {}, 200.0, False, True
        self.reviews, self.seen = set(), Counter()
        wrote(turn(memory, "pm", actor="pm"), "/portfolio/state.md", BASE, "book")
        fs = turn(memory)
        wrote(fs, "/memory/views/new.md", NEW_VIEW, "view")
        for number, notional in enumerate((20.0, 60.0)):
            proposal = replace(NEW_EXPRESSION, status="proposed", notional=notional, stop="30", instrument="NOG")
            wrote(fs, "/memory/expressions/new.md", proposal, f"e{number}")
        for one in self.newest().values():
            reviewed(memory, one)
            self.reviews.add((one.id, content_hash(one)))

    def call(self):
        self.calls += 1
        return f"c{self.calls}"

    def newest(self):
        remembered = turn(self.memory).remembered
        rows = [remembered.newest(path) for path in remembered.paths("/memory/expressions/")]
        return {record.id: record for record in map(remembered.record, rows)}

    def one(self, *statuses):
        """An Expression, of one of these statuses where there is one."""
        texts = self.newest()
        fitting = [name for name in sorted(texts) if texts[name].status in statuses]
        return texts[self.rng.choice(fitting or sorted(texts))]

    def drawn(self):
        return replace(
            NEW_EXPRESSION, instrument="NOG", status=self.rng.choice(STATUSES), target="40",
            notional=self.rng.choice((20.0, 60.0, 90.0)), stop=self.rng.choice(("30", "900")),
            factor_exposures={"rates": self.rng.choice((1.0, 12.0))}, pnl=self.rng.choice((None, None, 500.0)),
            exit_reason=self.rng.choice(("", "", "target")), adjusts=self.rng.choice(("", "", "", "E-001")),
        )  # fmt: skip

    def agent_writes(self):
        texts = self.newest()
        name = self.rng.choice([*texts, "new"]) if len(texts) >= MOST else self.rng.choice([*texts, "new", "new"])
        drawn = replace(self.drawn(), id=name)
        if self.rng.random() < 0.5:
            plain = {"pnl": None, "exit_reason": "", "adjusts": "", "status": "proposed"}
            drawn = replace(drawn, **plain)
        path = f"/memory/expressions/{name}.md"
        WriteTool(turn(self.memory)).execute(path, render(drawn), call_id=self.call())
        return set()

    def agent_flags(self):
        one = self.one()
        text = render(replace(one, status="review_required"))
        WriteTool(turn(self.memory)).execute(f"/memory/expressions/{one.id}.md", text, call_id=self.call())
        return set()

    def reviewer(self):
        one, verdict = self.one("proposed"), self.rng.choice((*GOOD, "approve", "revise"))
        reviewed(self.memory, one, verdict)
        (self.reviews.add if verdict in GOOD else self.reviews.discard)((one.id, content_hash(one)))
        return set()

    def pm_approves(self):
        one = self.one("proposed", "review_required")
        sha256 = content_hash(one) if self.rng.random() < 0.9 else "0" * 64
        try:
            approve(self.memory, one.id, sha256, "pm", Guardrails())
        except BadInput:
            return set()
        self.seen["approved"] += 1
        assert not self.halted, "approved while halted"
        assert (one.id, content_hash(one)) in self.reviews, "approved without a review of exactly this"
        assert self.view_open, "approved for a View that is over"
        if one.adjusts:
            assert one.adjusts in self.held, "adjusted what is not held"
            return {one.adjusts}
        self.held[one.id] = content_hash(one)
        if not one.exit_reason:
            assert self.gross() <= self.limit, "approved beyond the limit"
        return {one.id}

    def pm_rejects(self):
        one = self.one("active")
        try:
            reject(self.memory, one.id, "no", "pm", Guardrails())
        except BadInput:
            return set()
        assert one.id not in self.held, "rejected what is held"
        return set()

    def pm_changes(self):
        one = self.one("active")
        terms = self.rng.choice(
            ({"stop": "33"}, {"target": "44"}, {"exit_reason": "thesis"}, {"expires": date(2044, 1, 4)})
        )
        try:
            change_held(self.memory, one.id, "pm", Guardrails(), terms)
        except BadInput:
            return set()
        assert one.id in self.held, "changed what is not held"
        self.seen["changed"] += 1
        return {one.id}

    def pm_constrains(self):
        self.limit = self.rng.choice((100.0, 150.0, 200.0))
        record = Constraints(id="constraints", max_gross=self.limit)
        wrote(turn(self.memory, "pm", actor="pm"), "/portfolio/constraints.md", record, self.call())
        return set()

    def pm_switches(self):
        status = "released" if self.halted else "halted"
        switch(self.memory, Halt(id="halt", by="pm", reason="drill", status=status))
        self.halted = not self.halted
        return set()

    def code_closes(self):
        if not self.held:
            return set()
        name = self.rng.choice(sorted(self.held))
        closed = replace(self.newest()[name], status="closed", exit_reason="stop", pnl=-1.0)
        wrote(turn(self.memory, actor="code"), f"/memory/expressions/{name}.md", closed, self.call())
        self.held.pop(name)
        self.seen["closed"] += 1
        return {name}

    def agent_invalidates(self):
        if self.view_open and self.rng.random() < 0.2:
            over = replace(NEW_VIEW, id="V-001", status="invalidated")
            wrote(turn(self.memory), "/memory/views/V-001.md", over, self.call())
            self.view_open = False
        return set()

    def gross(self):
        """The gross exposure that has to be, from the texts as they stand."""
        texts = self.newest()
        return BASE.gross + sum(abs(texts[name].notional) for name in self.held)

    def step(self):
        act = self.rng.choice(
            (
                self.agent_writes,
                self.agent_writes,
                self.agent_flags,
                self.reviewer,
                self.reviewer,
                self.pm_approves,
                self.pm_approves,
                self.pm_rejects,
                self.pm_changes,
                self.pm_constrains,
                self.pm_switches,
                self.code_closes,
                self.agent_invalidates,
            )
        )
        before = dict(self.held)
        changed, texts = act(), self.newest()
        remembered = turn(self.memory).remembered
        named = {path.rpartition("/")[2].removesuffix(".md") for path in held_in(remembered)}
        assert named == set(self.held), f"{act.__name__}: held {named}, not {set(self.held)}"
        for name in self.held:
            if name not in changed:
                assert content_hash(texts[name]) == before[name], f"{act.__name__} changed {name}"
            self.held[name] = content_hash(texts[name])
        book = remembered_book(remembered)
        assert book.gross == pytest.approx(self.gross()), f"{act.__name__}: gross"
        rates = sum(texts[name].factor_exposures["rates"] for name in self.held)
        assert book.factor_exposures["rates"] == pytest.approx(rates), f"{act.__name__}: factors"


def walked(count, first=0):
    """Walk paths; what happened in them."""
    seen = Counter()
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory(dir=FAST) as folder, closing(Memory(Path(folder) / "forge")) as memory:
            room = Room(memory, seed)
            for _ in range(STEPS):
                room.step()
            seen += room.seen + Counter(held=len(room.held))
    return seen


def test_no_path_changes_or_closes_what_is_held_but_by_the_pm_and_by_code():
    seen = walked(40)
    assert min(seen["approved"], seen["changed"], seen["closed"]) > 2, seen


def test_the_paths_find_an_approval_without_a_check(monkeypatch):
    monkeypatch.setattr(forge.memory.approvals, "_check", lambda candidate, sha256: None)
    with pytest.raises((AssertionError, KeyError)):
        walked(40)


def test_the_paths_find_an_agent_that_may_change_a_position(monkeypatch):
    monkeypatch.setattr("forge.memory.effects.Writer._check_agent", lambda self, record, path: None)
    with pytest.raises(AssertionError):
        walked(40)


if __name__ == "__main__":
    print(dict(walked(int(sys.argv[1]))), "0 differences")
