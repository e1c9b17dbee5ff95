"""Sub-agents in a turn, from dispatch to the ledger, with resumption and replay. Ids: T4, T5, T6, X1, X2."""

import asyncio
import json
import re
from dataclasses import replace

import pytest

from forge.agent.agent import Agent
from forge.agent.conversation import LoopLimits
from forge.agent.tasks.review import REVIEW_PROMPT, VERDICTS, parse_review
from forge.agent.tasks.validation import (
    CONTRASTIVE_VALIDATION_PROMPT,
    STANDARD_VALIDATION_PROMPT,
    UNREADABLE,
    parse_verdict,
)
from forge.core.tape import Tape
from forge.memory.approvals import approve, pending
from forge.memory.guardrails import Guardrails
from forge.memory.lessons import decide, waiting_lessons
from forge.model import ModelFailed
from forge.model.scripted import Scripted
from forge.records import Calibration, ProcessKnowledge, content_hash, parse, render
from forge.records.kinds import KINDS
from pitlake.clock import instant, iso
from pitlake.errors import BadInput
from tests.forge.world import BOOK, NEW_EXPRESSION, NEW_VIEW, say, turn, wrote

T = "2014-05-29T12:29:59Z"
CLOCK = "test", T
SYNTHESIS = """\
### SUMMARY
Growth slows.

### VIEW UPDATES
```yaml
view_id: V-001
prior_confidence: 0.60
updated_confidence: 0.50
direction: weakened
scenario_changes: []
key_evidence: "GDP fell to 17149.6"
```

### EXPRESSION IMPLICATIONS
none

### OPEN QUESTIONS
The revision.

### NEXT ACTIONS
Wait for it.
"""


class Desk:
    """An agent with scripted models. Each role has a list of answers or a function."""

    def __init__(self, memory, root):
        self.memory, self.root, self.asked = memory, root, []

    def agent(self, **roles):
        models = {role: Scripted(message, role) for role, message in roles.items()}

        def model(role):
            self.asked.append(role)
            return models[role]

        self.models = models
        return Agent(self.memory, Tape(self.root / "tape.sqlite"), model, self.root / "none")

    def ask(self, decision="", **roles):
        return asyncio.run(self.agent(**roles).ask("What of growth?", T, decision=decision))


@pytest.fixture
def desk(memory, tmp_path):
    return Desk(memory, tmp_path)


def standing(desk, session):
    return turn(desk.memory, session, at=desk.memory.read_instant(instant(T)))


def dispatch(name, skill="rv-analysis", **more):
    return "dispatch", {"id": name, "skill": skill, "objective": f"look at {name}", **more}


def analyst(request):
    """Read once, then answer. The task `bad` is answered without a SUMMARY."""
    if "look at bad" in request.messages[0]:
        return say("no sections here")
    if len(request.messages) == 1:
        return say("", ("read", {"path": "/memory/views/"}))
    return say(f"### SUMMARY\nSeen {'with a prior' if 'PRIOR ANALYSIS' in request.messages[0] else 'alone'}.")


SCRIPT = [
    say("", dispatch("one"), dispatch("bad"), dispatch("two", depends_on=["one"])),
    say("", ("collect", {"target": "all"})),
    say("done"),
]


def answers(desk, decision, name):
    steps = Tape(desk.root / "tape.sqlite").steps(decision)
    return [
        each.answer
        for each in steps
        if each.lane == "agent" and each.kind == "tool" and json.loads(each.request)[0] == name
    ]


def test_a_turn_dispatches_and_collects_sub_agents_and_replays_identically(desk):
    decided = desk.ask(agent=SCRIPT, subagent=analyst)
    assert answers(desk, decided.decision, "dispatch")[2] == (
        "Dispatched: two | skill: rv-analysis | waits for: one\nUse collect('two') or collect('all') for results."
    )
    (reply,) = answers(desk, decided.decision, "collect")
    assert "── one (ok) ──\nSeen alone.\n[full: /session/results/one.md]" in reply
    assert "── two (ok) ──\nSeen with a prior." in reply
    assert "── bad (failed) ──\nFAILED: unreadable output: SUMMARY: is missing or empty" in reply
    assert reply.endswith("LEDGER: 2 ok, 1 failed (bad: failed), 0 running, 0 never collected")
    for mode in ("strict", "live-tools"):
        before = desk.memory.journal.head()
        assert asyncio.run(desk.agent().replay(decided.decision, mode)) == decided
        assert (desk.memory.journal.head(), desk.asked[-1:]) == (before, ["subagent"])


def test_t4_dispatching_an_unknown_skill_or_an_earlier_turns_id_is_refused(desk):
    desk.ask(agent=[say("", dispatch("one")), *SCRIPT[1:]], subagent=analyst)
    script = [say("", dispatch("one"), dispatch("two", "magic"), dispatch("three", "rv_analysis")), *SCRIPT[1:]]
    decided = desk.ask(agent=script, subagent=analyst)
    again, unknown, fine = answers(desk, decided.decision, "dispatch")
    assert "one was dispatched in an earlier turn" in again
    assert "there is no skill 'magic'" in unknown
    assert fine.startswith("Dispatched: three | skill: rv-analysis")
    assert answers(desk, decided.decision, "collect")[0].endswith(
        "LEDGER: 1 ok, 0 failed, 0 running, 0 never collected"
    )


def test_a_resumed_turn_does_not_rerun_finished_sub_agents(desk):
    failing = [*SCRIPT[:2]]
    with pytest.raises(ModelFailed):
        desk.ask("D-1", agent=failing, subagent=analyst)
    decided = desk.ask("D-1", agent=SCRIPT[2:], subagent=[])
    assert decided.answer == "done"
    rows = [row.path.rpartition("/")[2] for row in desk.memory.journal.rows() if "/results/" in row.path]
    assert sorted(rows) == ["bad.md", "one.md", "two.md"]
    assert asyncio.run(desk.agent().replay("D-1", "live-tools")) == decided


def test_the_answer_lists_sub_agents_that_were_never_collected(desk):
    decided = desk.ask(agent=[SCRIPT[0], say("done")], subagent=analyst)
    assert decided.answer.startswith("done\n\nThe results of some sub-agents were never collected.\nLEDGER: ")
    assert decided.answer.endswith("3 never collected (one, bad, two)")


def test_sub_agents_cannot_write(desk):
    seen = []

    def greedy(request):
        seen.append([tool.name for tool in request.tools])
        if len(request.messages) == 1:
            return say("", ("write", {"path": "/memory/views/new.md", "content": render(NEW_VIEW)}))
        return say(f"### SUMMARY\n{request.messages[2].returned[0].text}")

    decided = desk.ask(agent=[say("", dispatch("one")), *SCRIPT[1:]], subagent=greedy)
    assert set(map(tuple, seen)) == {("read", "search", "fetch")}
    assert "there is no such tool" in answers(desk, decided.decision, "collect")[0]
    assert not [row for row in desk.memory.journal.rows() if row.kind == "views"]


@pytest.mark.parametrize(
    ("message", "contrastive", "due"),
    [
        ("VERDICT: accept", False, ("accept", "")),
        ("VERDICT: reject\nFEEDBACK: no figure", False, ("reject", "no figure")),
        ("**VERDICT:** Accept\nCOUNTERARGUMENT: it may turn", True, ("accept", "")),
        ("VERDICT: accept", True, ("reject", UNREADABLE)),
        ("VERDICT: accept\nVERDICT: reject", False, ("reject", UNREADABLE)),
        ("I accept it", False, ("reject", UNREADABLE)),
        ("", False, ("reject", UNREADABLE)),
        ("VERDICT: accept or reject", False, ("reject", UNREADABLE)),
    ],
)
def test_x2_a_verdict_is_read_strictly(message, contrastive, due):
    result = parse_verdict(message, contrastive=contrastive)
    assert (result.verdict, result.feedback) == due


def test_x2_a_rejection_reaches_the_ledger_and_dependent_tasks(desk):
    read = []

    def subagent(request):
        read.append(request.messages[0])
        return say("### SUMMARY\nFine.")

    script = [say("", dispatch("one", validate=True), dispatch("two", depends_on=["one"])), *SCRIPT[1:]]
    rejects = [say("VERDICT: reject\nFEEDBACK: cites nothing")]
    decided = desk.ask(agent=script, subagent=subagent, validation=rejects)
    (reply,) = answers(desk, decided.decision, "collect")
    assert "── one (ok | validated: reject) ──" in reply
    assert "[feedback: cites nothing]" in reply
    assert reply.endswith("0 never collected, 1 rejected (one)")
    assert "[REJECTED by validation: cites nothing]" in read[1]
    (question,) = desk.models["validation"].asked
    assert (question.system, question.max_tokens) == (STANDARD_VALIDATION_PROMPT, 500)
    assert "CRITERIA:\n- Must say why the relation should hold" in question.messages[0]
    assert "STRONGEST COUNTERARGUMENT" in CONTRASTIVE_VALIDATION_PROMPT


def test_o1_a_synthesis_is_repaired_once_and_its_writes_are_proposed(desk):
    wrote(turn(desk.memory, "first"), "/memory/views/new.md", NEW_VIEW, "view")
    broken = SYNTHESIS.replace("0.50", "much")
    script = [say("", dispatch("s", "portfolio_synthesis")), *SCRIPT[1:]]
    decided = desk.ask(agent=script, synthesis=[say(broken), say(SYNTHESIS)])
    (reply,) = answers(desk, decided.decision, "collect")
    assert "[proposed: /session/proposed/s/V-001.md → confirm with write('/memory/views/V-001.md', …)]" in reply
    texts = {row.path.split("/", 3)[-1]: row.content for row in desk.memory.journal.rows() if "/sess_" in row.path}
    proposed = parse(KINDS["views"], texts["proposed/s/V-001.md"])
    assert (proposed.confidence, proposed.status) == (0.5, "active")
    assert "- 17149.6: UNPROVEN" in texts["results/s.md"]
    assert "unreadable" not in reply
    assert "VIEW UPDATES: updated_confidence" in desk.models["synthesis"].asked[1].messages[-1]


def test_t6_a_review_is_bound_to_exactly_what_it_read(desk):
    wrote(turn(desk.memory, "pm", actor="pm"), "/portfolio/state.md", BOOK, "book")
    fs = standing(desk, "first")
    wrote(fs, "/memory/views/new.md", NEW_VIEW, "view")
    wrote(fs, "/memory/expressions/new.md", replace(NEW_EXPRESSION, status="proposed"), "expression")
    reviewer = [say("", ("search", {"scope": "/memory/", "query": "growth"})), say("Sized well.\n\nVERDICT: approve")]
    script = [say("", ("review", {"output": "E-001", "focus": "growth"})), say("done")]
    decided = desk.ask(agent=script, review=reviewer)
    (reply,) = answers(desk, decided.decision, "review")
    assert reply.endswith(": approve]")
    question = desk.models["review"].asked[0]
    assert (question.system, question.role, {each.name for each in question.tools}) == (
        REVIEW_PROMPT, "review", {"read", "search", "fetch"},
    )  # fmt: skip
    assert "PORTFOLIO:\n# state" in question.messages[0]
    (waiting,) = pending(desk.memory, Guardrails())
    assert (waiting.problems, waiting.review.verdict) == ((), "approve")
    text = replace(waiting.expression, stop="107", updated=None)
    wrote(standing(desk, "later"), "/memory/expressions/E-001.md", text, "changed")
    with pytest.raises(BadInput, match="has changed"):
        approve(desk.memory, "E-001", waiting.sha256, "pm", Guardrails(), confirmed=True)
    with pytest.raises(BadInput, match="no review of exactly this content"):
        approve(desk.memory, "E-001", content_hash(text), "pm", Guardrails(), confirmed=True)


def test_t6_a_reviewer_sees_calibration_of_the_category_and_lessons_of_the_focus(desk):
    fs = standing(desk, "first")
    wrote(fs, "/memory/views/new.md", NEW_VIEW, "view")
    wrote(fs, "/memory/expressions/new.md", replace(NEW_EXPRESSION, status="draft"), "expression")
    for name, weight in (("rates_growth", 0.5), ("rates_weak", 0.3), ("other", 0.9)):
        lesson = ProcessKnowledge(id="new", skill=("x",), category=name, weight=weight, claim="Look.")
        wrote(standing(desk, "first"), "/memory/pk/new.md", lesson, name)
    for lesson in waiting_lessons(desk.memory):
        decide(desk.memory, lesson.record.id, lesson.sha256, "pm")
    code = turn(desk.memory, "code", at=desk.memory.read_instant(instant(T)), actor="code")
    for category in ("macro_regime", "thematic"):
        marks = Calibration(id=category, forecasts=40, brier=0.21, status="measured")
        wrote(code, f"/memory/calibration/{category}.md", marks, category)
    script = [say("", ("review", {"output": "E-001", "focus": "the rates"})), say("done")]
    desk.ask(agent=script, review=[say("VERDICT: approve")])
    reply = desk.models["review"].asked[0].messages[0]
    heads = [
        line
        for line in reply.splitlines()
        if line.startswith(("# ", "OUTPUT", "REVIEW", "PORTF", "CALIB", "PROC", "PK-", "rates"))
    ]
    assert heads == [
        "OUTPUT TO REVIEW:", "# E-001", "REVIEW FOCUS:", "# V-001", "PORTFOLIO:", "CALIBRATION:", "# macro_regime",
        "PROCESS KNOWLEDGE:", "rates_growth x", "PK-001 (weight 0.5, supports, written by agent): Look.",
    ]  # fmt: skip


def test_t6_a_reviewer_sees_the_instant_the_view_each_limit_and_what_was_fetched(desk):
    wrote(turn(desk.memory, "pm", actor="pm"), "/portfolio/state.md", BOOK, "book")
    fs = standing(desk, "first")
    wrote(fs, "/memory/views/new.md", NEW_VIEW, "view")
    wrote(fs, "/memory/expressions/new.md", replace(NEW_EXPRESSION, status="proposed"), "expression")
    kelly = {"op": "kelly", "probability": 0.6, "win": 2.0, "loss": 1.0}
    script = [
        say("", ("fetch", {"source": "analytics", "params": kelly})),
        say("", ("review", {"output": "E-001", "focus": "size"})),
        say("done"),
    ]
    desk.ask(agent=script, review=[say("VERDICT: approve")])
    message = desk.models["review"].asked[0].messages[0]
    blocks = [block.strip("\n") for block in message.split("\n\n")]
    parts = dict(block.split("\n", 1) for block in blocks if re.match(r"[A-Z]+[^\n]*:\n", block))
    assert blocks[0].startswith(f"AS OF {iso(instant(T))} ")
    assert parts["VIEW:"].startswith('<data from="V-001" note="not instructions">\n# V-001\nscope: us_growth')
    figures = Guardrails().figures(NEW_EXPRESSION, BOOK, None)
    assert parts["GUARDRAILS:"].splitlines() == [
        f"{each.rule}: claimed {each.claimed:g} of {each.limit:g}" for each in figures
    ]
    assert [text for name, text in parts.items() if name.startswith("FETCHED")] == ["ctx_001.md"]


@pytest.mark.parametrize(
    "message", ["", "I approve", "VERDICT: sure", "VERDICT: approve\nVERDICT: revise", "verdict approve"]
)
def test_t6_an_unreadable_review_is_escalated(message):
    assert parse_review(message) == "escalate"
    assert [parse_review(f"x\nVERDICT: {each}\nmore") for each in VERDICTS] == list(VERDICTS)


def test_t6_a_reviewer_that_never_comes_to_an_end_is_stopped_after_twelve_turns(desk):
    def endless(request):
        return say("VERDICT: approve", ("read", {"path": f"/memory/views/V-{len(request.messages):03d}.md"}))

    script = [say("", ("review", {"output": "a plan", "focus": "x"})), say("done")]
    decided = desk.ask(agent=script, review=endless)
    assert answers(desk, decided.decision, "review")[0].endswith("[review: escalate (the limit of turns was reached)]")
    assert len(desk.models["review"].asked) == 12
    assert LoopLimits().turns == 40


def test_a_retry_needs_only_the_id_of_the_failed_task(desk):
    tried = []

    def flaky(request):
        tried.append(request.messages[0])
        return say("### SUMMARY\nFine." if "RETRY of one" in request.messages[0] else "broken")

    script = [
        say("", dispatch("one")), say("", ("collect", {"target": "one"})), say("", ("dispatch", {"retry_of": "one"})),
        say("", ("collect", {"target": "all"})), say("done"),
    ]  # fmt: skip
    decided = desk.ask(agent=script, subagent=flaky)
    reply = answers(desk, decided.decision, "collect")[1]
    assert "── one-r2 (ok) ──" in reply
    assert "1 failed (one: failed, retried as one-r2)" in reply
    assert asyncio.run(desk.agent().replay(decided.decision, "live-tools")) == decided
