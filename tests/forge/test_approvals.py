"""Approvals: an Expression becomes active only under R1's three conditions, and never through a model's tools."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import forge.memory.approvals
from forge.agent.tools.write import WriteTool
from forge.core.config import Approvers
from forge.memory import Memory
from forge.memory.approvals import approve, pending, reject
from forge.memory.book import held_in, remembered_book
from forge.memory.guardrails import Guardrails
from forge.records import KINDS, Constraints, content_hash, parse
from pitlake.errors import BadInput
from tests.forge.world import FAST, NEW_EXPRESSION, NEW_VIEW, desk_with_proposal, render, reviewed, turn, wrote

AT = "/memory/expressions/E-001.md"
STATUSES = ("proposed", "draft", "proposed", "active", "proposed", "review_required", "rejected", "closed")
VERDICTS = ("approve", "approve_with_notes", "revise", "escalate")


CONTENTS = [replace(NEW_EXPRESSION, id="E-001", stop=stop, status="proposed") for stop in ("107", "108")]
contents = st.sampled_from(CONTENTS)


@pytest.mark.parametrize("users", [(), ("anna",), ("anna", "Anna ")])
def test_requiring_two_approvers_needs_the_names_of_two_people(users):
    with pytest.raises(ValueError, match="needs the names of two people"):
        Approvers(users=users, second_above=5.0)


class Door(RuleBasedStateMachine):
    """All actions of an agent, a reviewer and a PM on one Expression, with a model of the expected state."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=FAST)
        self.memory = Memory(Path(self.folder.name) / "forge")
        self.calls = 0
        self.reviews = {}
        self.limit = 5.0
        self.view = "active"
        self.before = ("", "")

    def teardown(self):
        self.memory.close()
        self.folder.cleanup()

    def call(self):
        self.calls += 1
        return f"c{self.calls}"

    @initialize()
    def begin(self):
        desk_with_proposal(self.memory, stop=CONTENTS[0].stop)
        self.before = self.now()

    def now(self):
        content = parse(KINDS["expressions"], turn(self.memory).read_file(AT))
        return content.status, content_hash(content)

    @rule(item=contents, status=st.sampled_from(STATUSES), actor=st.sampled_from(["agent", "pm", "code"]))
    def write(self, item, status, actor):
        was, text = self.now()
        WriteTool(turn(self.memory, actor=actor)).execute(AT, render(replace(item, status=status)), call_id=self.call())
        result, after = self.now()
        assert result != "active" or (was, text) == ("active", after)

    @rule(item=contents, verdict=st.sampled_from(VERDICTS))
    def review(self, item, verdict):
        reviewed(self.memory, item, verdict)
        self.reviews[content_hash(item)] = verdict

    @rule(limit=st.sampled_from((0.5, 5.0)))
    def constrain(self, limit):
        pm = turn(self.memory, "pm", actor="pm")
        wrote(pm, "/portfolio/constraints.md", Constraints(id="constraints", max_single_risk=limit), self.call())
        self.limit = limit

    @rule()
    def invalidate(self):
        if self.view == "active":
            wrote(
                turn(self.memory),
                "/memory/views/V-001.md",
                replace(NEW_VIEW, id="V-001", status="invalidated"),
                self.call(),
            )
            self.view = "invalidated"
            self.reviews.clear()

    @rule(item=contents)
    def approve(self, item):
        status, content = self.now()
        loss = parse(KINDS["expressions"], turn(self.memory).read_file(AT)).max_loss_pct
        due = (
            status in ("proposed", "review_required")
            and content == content_hash(item)
            and self.reviews.get(content) in ("approve", "approve_with_notes")
            and loss <= self.limit
            and self.view == "active"
        )
        try:
            approve(self.memory, "E-001", content_hash(item), "pm", Guardrails(), confirmed=True)
            done = True
        except BadInput:
            done = False
        assert not done or due, "approved without all three"
        assert done or not due or status == "review_required", "a clean approval was refused"
        assert (self.now()[0] == "active") == (done or status == "active")

    @rule()
    def reject(self):
        status, _ = self.now()
        try:
            reject(self.memory, "E-001", "too crowded", "pm", Guardrails())
            assert self.now()[0] == "rejected"
        except BadInput:
            assert status not in ("proposed", "review_required")

    @invariant()
    def active_means_approved(self):
        status, text = self.now() if self.calls or self.before[0] else ("", "")
        if status == "active":
            rows = [row for row in self.memory.journal.rows() if row.kind == "approvals"]
            message = [parse(KINDS["approvals"], row.content) for row in rows]
            assert any((each.decision, each.sha256) == ("approved", text) for each in message)


def explored(examples, steps, phases=(Phase.generate, Phase.shrink)):
    run_state_machine_as_test(
        Door,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None, phases=phases, derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip


def test_r1_no_path_activates_an_expression_without_all_three_conditions():
    explored(40, 20)


def test_r1_the_state_machine_finds_a_disabled_approval_check(monkeypatch):
    monkeypatch.setattr(forge.memory.approvals, "_check", lambda result, sha256, confirmed: None)
    with pytest.raises(AssertionError):
        explored(500, 15, (Phase.generate,))


def test_r1_the_state_machine_finds_a_verdict_that_should_not_approve(monkeypatch):
    monkeypatch.setattr(forge.memory.approvals, "APPROVING", frozenset(VERDICTS))
    door = Door()
    door.begin()
    door.review(CONTENTS[0], "revise")
    with pytest.raises(AssertionError, match="without all three"):
        door.approve(CONTENTS[0])
    door.teardown()


def test_rejecting_a_pending_expression_records_a_counterfactual(memory):
    desk_with_proposal(memory)
    (proposal,) = pending(memory, Guardrails())
    assert proposal.problems == ("no review of exactly this content",)
    reject(memory, "E-001", "too crowded", "pm", Guardrails())
    assert pending(memory, Guardrails()) == []
    text = turn(memory).read_file("/memory/counterfactuals/CF-001.md")
    assert "reason: too crowded" in text


@pytest.mark.parametrize("change", [{}, {"direction": "short", "notional": 30.0}, {"factor_exposures": {"fx": -4.0}}])
def test_the_book_after_an_approval_matches_the_book_shown_before(memory, change):
    limits = Guardrails()
    desk_with_proposal(memory, **change)
    reviewed(memory, replace(NEW_EXPRESSION, id="E-001", status="proposed", **change))
    (display,) = pending(memory, limits)
    assert approve(memory, "E-001", display.sha256, "pm", limits, confirmed=True)
    after = turn(memory).remembered
    content = limits.totals(remembered_book(after), held_in(after).values(), "")
    assert [line[::2] for line in display.book] == [line[::2] for line in content.compare(content)]
    assert [line.name for line in display.book if line.before != line.after] != []
