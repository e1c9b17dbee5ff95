"""A turn from question to receipt: replays, resumption, sessions, and memory as of the turn's instant."""

import asyncio
import json
import sqlite3
from dataclasses import replace
from datetime import date, timedelta

import pytest

from forge.agent.agent import Agent
from forge.agent.conversation import COMPACTED
from forge.core.clock import Simulated
from forge.core.known_models import DEFAULTS
from forge.core.tape import Diverged, Tape
from forge.memory import Memory
from forge.model import Answer, ModelFailed, NoModel
from forge.model.prices import price
from forge.model.scripted import Scripted
from forge.records import render
from forge.tracking.receipts import cut_off
from pitlake.clock import instant
from pitlake.errors import BadInput
from pitlake.models import exposure
from tests.forge.world import NEW_EXPRESSION, NEW_VIEW, say

T = "2014-05-29T12:29:59Z"
CLOCK = "test", T


WRITE = ("write", {"path": "/memory/views/new.md", "content": render(NEW_VIEW)})
SCRIPT = [
    say("", ("read", {"path": "/memory/views/"}), WRITE),
    say("", ("search", {"scope": "/memory/", "query": "growth slows"}), ("read", {"path": "/memory/views/V-001.md"})),
    say("", ("fetch", {"source": "economic", "params": {}})),
    say("Growth slows: V-001."),
]


@pytest.fixture
def desk(memory, tmp_path):
    def made(script, **more):
        scripted = Scripted(script)
        return Agent(memory, Tape(tmp_path / "tape.sqlite"), lambda role: scripted, tmp_path / "none", **more)

    return made


def ask(agent, text="What of growth?", as_of=T, **more):
    return asyncio.run(agent.ask(text, as_of, **more))


def replay(agent, decision, mode="strict"):
    return asyncio.run(agent.replay(decision, mode))


def test_a_turn_can_read_and_search_a_view_that_it_just_wrote(desk):
    agent = desk(SCRIPT)
    decided = ask(agent)
    assert (decided.answer, decided.end) == ("Growth slows: V-001.", "answered")
    answers = [step.answer for step in agent.tape.steps(decided.decision) if step.kind == "tool"]
    assert answers[:2] == ["Directory: /memory/views/ (0 items)", "Written: /memory/views/V-001.md"]
    assert "/memory/views/V-001.md\n# V-001" in answers[2]
    assert answers[3].startswith("# V-001")
    assert answers[4].startswith("[FETCH FAILED | economic] ")


def test_a_guardrail_refusal_is_shown_as_progress(desk):
    trade = render(replace(NEW_EXPRESSION, status="proposed", max_loss_pct=9.0))
    script = [say("", WRITE), say("", ("write", {"path": "/memory/expressions/new.md", "content": trade})), say("done")]
    lines = []
    ask(desk(script), on_progress=lines.append)
    (refused,) = [line for line in lines if line.startswith("refused: ")]
    assert refused.startswith("refused: GUARDRAIL VIOLATIONS: [hard] max_single_risk: 9 (limit: 5) ")


@pytest.mark.parametrize("mode", ["strict", "live-tools"])
def test_a_replay_comes_out_the_same_and_writes_nothing(desk, mode):
    decided = ask(desk(SCRIPT))
    agent = desk([])
    before = agent.memory.journal.head()
    assert replay(agent, decided.decision, mode) == decided
    assert agent.memory.journal.head() == before


def test_a_replay_is_unchanged_by_later_decisions_and_a_flush_of_memory(desk):
    decided = ask(desk(SCRIPT))
    ask(desk([say("", WRITE), say("again")]))
    agent = desk([])
    agent.memory.flush()
    assert replay(agent, decided.decision, "live-tools") == decided


def test_a_replay_on_an_altered_memory_row_fails_and_names_the_step(desk):
    decided = ask(desk(SCRIPT))
    agent = desk([])
    path = agent.memory.journal.database.place
    with sqlite3.connect(path) as journal:
        for (trigger,) in journal.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            journal.execute(f"DROP TRIGGER {trigger}")
        journal.execute("UPDATE forge_journal SET content = replace(content, 'Growth', 'Grawth') WHERE kind = 'views'")
    journal.close()
    with pytest.raises(Diverged, match=r"step 5 of agent \(tool\) differs: answer of search: "):
        replay(agent, decided.decision, "live-tools")


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_failed_turn_resumes_where_it_stopped(desk, stop):
    with pytest.raises(ModelFailed):
        ask(desk(SCRIPT[:stop]), decision="D-1")
    agent = desk(SCRIPT[stop:])
    assert ask(agent, decision="D-1").answer == "Growth slows: V-001."
    views = [row.path for row in agent.memory.journal.rows() if row.kind == "views"]
    assert views == ["/memory/views/V-001.md"]
    answers = [step.answer for step in agent.tape.steps("D-1") if step.kind == "tool"]
    assert "/memory/views/V-001.md\n# V-001" in answers[2]
    assert answers[3].startswith("# V-001")
    assert replay(desk([]), "D-1").answer == "Growth slows: V-001."


def test_the_receipt_names_the_decisions_inputs(desk):
    decided = ask(desk(SCRIPT))
    receipt = decided.receipt
    assert (receipt.as_of, receipt.market, receipt.memory, receipt.models) == (T, None, None, {"scripted-1": None})
    assert (receipt.exposure, receipt.journal[0], len(receipt.journal[1]), len(receipt.prompt)) == (
        "exposed", 0, 64, 64,
    )  # fmt: skip


def test_a_missing_market_lake_is_reported_in_one_sentence(desk):
    reply = []
    assert ask(desk([say("fine")]), on_progress=reply.append).receipt.market is None
    assert reply[1] == "there is no market lake, so fetch finds nothing; name one with --lake or PITLAKE_LAKE"


def test_each_default_model_has_a_cut_off_and_a_price(tmp_path):
    assert None not in [cut_off(each, tmp_path / "none") for each in DEFAULTS.values()]
    assert None not in [price(each, {}) for each in DEFAULTS.values()]
    assert cut_off("claude-of-others", tmp_path / "none") is None


def test_a_decision_is_clean_from_the_day_after_the_newest_models_cut_off(tmp_path):
    cut_offs = [cut_off(name, tmp_path / "none") for name in DEFAULTS.values()]
    newest = date.fromisoformat(max(cut_offs))
    assert exposure(cut_offs, instant(f"{newest}T12:00:00Z")) == "exposed"
    assert exposure(cut_offs, instant(f"{newest + timedelta(days=1)}T12:00:00Z")) == "clean"


def test_an_unknown_cut_off_counts_as_exposed():
    at = instant(T)
    reply = [exposure(each, at) for each in ([], [None], ["2014-05-29"], ["2014-05-28"], ["2014-05-28", None])]
    assert reply == ["exposed", "exposed", "exposed", "clean", "exposed"]


def test_s1_a_session_continues_for_its_user_and_trigger_until_it_times_out(desk):
    def session(as_of, **more):
        agent = desk([say("fine")])
        agent.memory.journal.clock.move(as_of)
        receipt = ask(agent, as_of=as_of, **more).receipt
        return receipt.session, agent

    first, _ = session(T)
    assert first.startswith("sess_")
    second, agent = session("2014-05-29T12:59:59Z")
    assert second == first
    assert "SESSION (turn 2):" in agent.models("agent").asked[0].system
    assert "Query: What of growth?" in agent.models("agent").asked[0].system
    assert session("2014-05-29T13:00:00Z", trigger="schedule")[0] != first
    assert session("2014-05-29T13:00:01Z", user="other")[0] != first
    assert session("2014-05-29T13:30:00Z")[0] != first


def test_s1_a_session_that_expired_is_archived_by_the_next_turn(desk):
    def turn_at(as_of, **more):
        agent = desk([say("fine")])
        agent.memory.journal.clock.move(as_of)
        return ask(agent, as_of=as_of, **more).receipt.session, agent

    def statuses(agent, as_of):
        remembered = agent.memory.hydrate(as_of)
        rows = [remembered.newest(path) for path in remembered.paths("/sessions/")]
        return {remembered.record(row).id: remembered.record(row).status for row in rows}

    first, _ = turn_at(T)
    limit, agent = turn_at("2014-05-29T12:59:59Z", user="other")
    assert statuses(agent, "2014-05-29T13:00:00Z") == {first: "open", limit: "open"}
    later, agent = turn_at("2014-05-29T13:00:01Z", trigger="schedule")
    assert statuses(agent, "2014-05-29T13:00:00Z") == {first: "open", limit: "open"}
    assert statuses(agent, "2014-05-29T13:00:02Z") == {first: "archived", limit: "open", later: "open"}
    rows = [row for row in agent.memory.journal.rows() if row.path == f"/sessions/{first}.md"]
    last, agent = turn_at("2014-05-29T13:40:00Z")
    assert statuses(agent, "2014-05-29T13:40:01Z") == {**dict.fromkeys((first, limit, later), "archived"), last: "open"}
    assert [row for row in agent.memory.journal.rows() if row.path == f"/sessions/{first}.md"] == rows
    for decision in agent.tape.decisions():
        assert replay(desk([]), decision).answer == "fine"
    agent.memory.flush()
    assert agent.memory.audit() == []


def test_t8_compaction_removes_older_results_and_the_tape_keeps_them(desk):
    compact = ("compact", {"target": "conversation", "focus": "the view"})
    agent = desk([*SCRIPT[:1], say("", compact), say("short: V-001 written"), say("done")])
    decided = ask(agent)
    last = agent.models("agent").asked[-1]
    texts = [each.text for message in last.messages if hasattr(message, "returned") for each in message.returned]
    assert texts == [COMPACTED, COMPACTED, "short: V-001 written"]
    assert any(step.answer == "Written: /memory/views/V-001.md" for step in agent.tape.steps(decided.decision))
    assert "Written: /memory/views/V-001.md" in agent.models("agent").asked[2].messages[0]
    for mode in ("strict", "live-tools"):
        assert replay(desk([]), decided.decision, mode) == decided


def test_a2_the_prompt_puts_changing_parts_last_and_keeps_braces_literal(desk):
    agent = desk(
        [
            say("", ("write", {"path": "/memory/views/new.md", "content": render(replace(NEW_VIEW, scope="{x}"))})),
            say("ok"),
        ]
    )
    ask(agent)
    second = desk([say("ok")])
    ask(second)
    system = second.models("agent").asked[0].system
    order = [
        system.index(each)
        for each in (
            "You are Forge", "SKILLS:", "PROCESS KNOWLEDGE", "CALIBRATION:", "VIEWS:", "PORTFOLIO:", "SESSION (",
        )
    ]  # fmt: skip
    assert order == sorted(order)
    assert "VIEWS: 1 active: V-001({x})" in system
    assert "Insufficient calibration data." in system


def test_a_finished_turn_leaves_no_unpublished_rows(desk):
    agent = desk(SCRIPT)
    ask(agent)
    assert agent.memory.flush().rows == 0
    assert agent.memory.audit() == []


def test_p1_every_model_answer_tool_call_and_write_is_on_the_audit_trail(desk):
    agent = desk(SCRIPT)
    decided = ask(agent)
    steps = agent.tape.steps(decided.decision)
    assert [step.kind for step in steps] == ["model", "tool", "tool", "model", "tool", "tool", "model", "tool", "model"]
    assert [json.loads(step.request)[0] for step in steps if step.kind == "tool"] == [
        "read", "write", "search", "read", "fetch",
    ]  # fmt: skip
    (view,) = [row for row in agent.memory.journal.rows() if row.kind == "views"]
    number = int(view.call_id.removeprefix(f"{decided.decision}:agent:"))
    assert json.loads(steps[number - 1].request) == list(WRITE)
    assert (view.actor, view.session) == ("agent", decided.receipt.session)
    assert {row.actor for row in agent.memory.journal.rows() if row.kind == "sessions"} == {"code"}


def test_a_replay_with_an_altered_receipt_names_what_differs(desk, tmp_path):
    decided = ask(desk(SCRIPT))
    agent = desk([])
    with sqlite3.connect(tmp_path / "tape.sqlite") as tape:
        tape.execute("DROP TRIGGER receipts_UPDATE")
        (text,) = tape.execute("SELECT receipt FROM receipts").fetchone()
        tape.execute("UPDATE receipts SET receipt = ?", (text.replace('"skills": "', '"skills": "0'),))
    with pytest.raises(Diverged, match="skills"):
        replay(agent, decided.decision)


def test_the_decision_id_is_the_first_line_of_progress(desk):
    reply = []
    decided = ask(desk(SCRIPT), on_progress=reply.append)
    assert reply[0] == f"decision {decided.decision}"


def test_a_decision_complete_on_its_tape_is_resumed_without_a_model(desk):
    decided = ask(desk(SCRIPT))
    agent = desk([])

    def absent(role):
        raise NoModel("model", "none is configured", "set one")

    resumed = ask(replace(agent, models=absent), decision=decided.decision)
    assert resumed.answer == decided.answer
    with pytest.raises(NoModel):
        ask(replace(agent, models=absent))


def test_resuming_a_decision_on_another_memory_is_refused(desk, tmp_path):
    decided = ask(desk(SCRIPT))
    other = Memory(tmp_path / "other", clock=Simulated("another", T))
    with pytest.raises(BadInput, match="simulated:test"):
        ask(replace(desk([]), memory=other), decision=decided.decision)
    other.close()


def test_a_decision_that_was_never_finished_cannot_be_replayed(desk, tmp_path):
    decided = ask(desk(SCRIPT))
    with sqlite3.connect(tmp_path / "tape.sqlite") as tape:
        tape.execute("DROP TRIGGER receipts_DELETE")
        tape.execute("DELETE FROM receipts")
    with pytest.raises(BadInput, match="never finished"):
        replay(desk([]), decided.decision)


def test_deciding_an_event_again_reveals_nothing_of_earlier_tries_not_even_by_ids(tmp_path, monkeypatch):
    def tape(name, tries):
        inputs = []

        def model(request):
            """Write a View, rewrite it under its assigned id, then look for the earlier version."""
            turn = sum(isinstance(each, Answer) for each in request.messages)
            if turn == 1:
                inputs.append(request.messages[-1].returned[0].text.removeprefix("Written: "))
                record = replace(NEW_VIEW, id=inputs[0].rpartition("/")[2].removesuffix(".md"), confidence=0.7)
                return say("", ("write", {"path": inputs[0], "content": render(record)}))
            archive = ("read", {"path": "/memory/.archive/views/"})
            search = ("search", {"scope": "/memory/", "query": "growth"})
            return {0: say("", WRITE), 2: say("", archive, search)}.get(turn, say("done"))

        memory, reply = Memory(tmp_path / name, clock=Simulated("test", T)), Tape(tmp_path / f"{name}.sqlite")
        for number in range(tries + 1):
            monkeypatch.setattr("forge.agent.session.token_hex", lambda count, number=number: f"{tries - number:010}")
            inputs.clear()
            scripted = Scripted(model)
            agent = Agent(memory, reply, lambda role, scripted=scripted: scripted, tmp_path / "none")
            ask(agent, event="E", decision=f"try{number}" if number < tries else "last")
        memory.close()
        return reply.inputs("last")["session"], reply.steps("last"), [request.system for request in scripted.asked]

    first, again = tape("first", 0), tape("again", 3)
    assert first == again
    assert any("/memory/views/V-" in step.answer for step in first[1])
    assert any("Directory: /memory/.archive/views/ (1 items)" in step.answer for step in first[1])
