"""The tape: each step is recorded once, in order and permanently, and differences are named."""

import asyncio
import sqlite3

import pytest

from forge.agent.conversation import Conversation, LoopLimits
from forge.agent.loop import loop
from forge.agent.tools.base import schema
from forge.core.tape import Diverged, Tape, difference
from forge.model import Answer, Call, Results
from forge.model.messages import ToolSpec, dump_answer, load_answer
from forge.model.scripted import Scripted
from forge.model.taped import Taped
from pitlake.errors import BadInput


class Echo:
    spec = ToolSpec("echo", "Say it again.", schema({"text": {"type": "string"}}, "text"))

    def __init__(self, says="{}"):
        self.says, self.calls = says, []

    async def execute(self, call_id, /, text):
        self.calls.append((call_id, text))
        return self.says.format(text)


def say(text, *calls, finish="stop", **more):
    outcome = tuple(Call(name, arguments, f"id{number}") for number, (name, arguments) in enumerate(calls))
    return Answer(text, outcome, "tools" if outcome else finish, "scripted:1", **more)


def run(tape, script, tools=(), mode="record", limits=None, decision="d", system="You are Forge."):
    model = Scripted(script)
    lane = tape.lane(decision, mode=mode)
    talk = Conversation(system, ["go"])
    existing = {tool.spec.name: tool for tool in tools}
    reply = asyncio.run(loop(Taped(model, lane), lane, talk, existing, limits or LoopLimits(), lambda line: None))
    if mode != "record":
        lane.check_end()
    return reply, model, talk


SCRIPT = [say("", ("echo", {"text": "GDP 17149.6"})), say("growth slowed")]


@pytest.fixture
def tape(tmp_path):
    return Tape(tmp_path / "tape.sqlite")


def test_what_was_recorded_is_replayed_without_model_or_tool(tape):
    echo = Echo()
    first, _, _ = run(tape, SCRIPT, [echo])
    assert first == ("growth slowed", "answered")
    silent = Echo()
    again, model, _ = run(tape, [], [silent], mode="strict")
    assert (again, model.asked, silent.calls) == (first, [], [])


def test_a_replay_with_live_tools_asks_the_tools_again(tape):
    run(tape, SCRIPT, [Echo()])
    echo = Echo()
    reply, model, _ = run(tape, [], [echo], mode="live-tools")
    assert (reply[0], model.asked, len(echo.calls)) == ("growth slowed", [], 1)


def test_a_changed_tool_result_is_reported_with_its_step_and_the_change(tape):
    run(tape, SCRIPT, [Echo()])
    with pytest.raises(Diverged, match=r"step 2 of agent \(tool\) differs: answer of echo: .*17149.6.*, now .*17149.7"):
        run(tape, [], [Echo("GDP 17149.7")], mode="live-tools")


def test_a_changed_prompt_fails_the_replay_only_if_the_tape_has_no_stored_prompt(tape, monkeypatch):
    run(tape, SCRIPT, [Echo()])
    _, _, talk = run(tape, [], [Echo()], mode="strict", system="You are Force.")
    assert talk.messages[-1].text == "growth slowed"
    monkeypatch.setattr(Tape, "contents", lambda tape, decision: {})
    with pytest.raises(Diverged, match=r"step 1 of agent \(model\) differs: request: system was 'You are Forge.', now"):
        run(tape, [], [Echo()], mode="strict", system="You are Force.")


def test_a_replay_that_ends_before_or_after_its_tape_fails(tape):
    run(tape, SCRIPT, [Echo()])
    with pytest.raises(Diverged, match="the tape continues here"):
        run(tape, [], [Echo()], mode="strict", limits=LoopLimits(turns=1))
    run(tape, SCRIPT, [Echo()], decision="short", limits=LoopLimits(turns=1))
    with pytest.raises(Diverged, match="the tape ends before it"):
        run(tape, [], [Echo()], mode="strict", decision="short")


def test_resuming_after_a_failure_does_not_repeat_finished_steps(tape):
    echo = Echo()
    with pytest.raises(Exception, match="the script has 1 answers"):
        run(tape, SCRIPT[:1], [echo])
    reply, model, _ = run(tape, [say("growth slowed")], [echo])
    assert (reply[0], len(model.asked), len(echo.calls)) == ("growth slowed", 1, 1)


def test_call_ids_are_the_same_on_every_replay(tape):
    first, second = Echo(), Echo()
    run(tape, SCRIPT, [first])
    run(tape, [], [second], mode="live-tools")
    assert first.calls == second.calls == [("d:agent:2", "GDP 17149.6")]


def test_lanes_do_not_swap_answers(tape):
    async def both():
        async def give(text):
            return text

        for lane, text in (("a", "1"), ("b", "2")):
            await tape.lane("d", lane).once("model", "same", lambda text=text: give(text))
        return [await tape.lane("d", lane, "strict").once("model", "same", None) for lane in ("b", "a")]

    assert asyncio.run(both()) == ["2", "1"]


@pytest.mark.parametrize("statement", ["UPDATE steps SET answer = ''", "DELETE FROM steps", "DELETE FROM decisions"])
def test_no_row_of_a_tape_can_be_changed(tape, statement):
    tape.begin("d", {"as_of": "2014-05-29T12:30:00Z"})
    run(tape, SCRIPT, [Echo()])
    with sqlite3.connect(tape.place) as connection, pytest.raises(sqlite3.IntegrityError, match="never changed"):
        connection.execute(statement)
    connection.close()


def test_a_decisions_recorded_inputs_never_change(tape):
    assert tape.begin("d", {"a": 1}) == tape.begin("d", {"a": 2}) == {"a": 1}
    with pytest.raises(BadInput, match="decision: 'x' is not on the tape; the newest are: d"):
        tape.inputs("x")


def test_lone_surrogates_and_arbitrary_json_survive_the_tape(tape):
    odd = {"text": "\ud800 ü \x00", "n": [None, 1.5, {"a": True}]}
    answer = say("\ud83d", ("echo", odd))
    assert load_answer(dump_answer(answer)) == answer
    reply, _, _ = run(tape, [answer, say("done")], [Echo()])
    assert run(tape, [], [Echo()], mode="strict")[0] == reply


@pytest.mark.parametrize(
    ("then", "now", "reply"),
    [
        ({"a": [1, 2]}, {"a": [1, 3]}, "a[1] was 2, now 3"),
        ({"a": 1}, {"b": 1}, "a was 1, now None"),
        ([1], [1, 2], "all had 1 parts, now 2"),
        ("x", 1, "it was 'x', now 1"),
    ],
)
def test_a_difference_names_its_place_and_both_values(then, now, reply):
    assert difference(then, now) == reply


def test_a1_tool_errors_are_returned_to_the_model_in_a_single_request(tape):
    class Broken(Echo):
        async def execute(self, call_id, /, text):
            raise RuntimeError("secret")

    calls = [("nothing", {}), ("echo", {}), ("echo", "text"), ("echo", {"text": "a"}), ("echo", {"text": "a", "b": 1})]
    reply, model, talk = run(tape, [say("", *calls), say("done")], [Broken()])
    assert reply == ("done", "answered")
    results = [each.text for message in talk.messages if isinstance(message, Results) for each in message.returned]
    assert results == [
        "['nothing' FAILED] there is no such tool. Available: echo",
        "[echo FAILED] text: is missing; give text",
        "[echo FAILED] arguments: give an object, not 'text'",
        "[echo FAILED] RuntimeError; try another way, or report it as missing",
        "[echo FAILED] 'b': unknown argument; use text",
    ]
    assert len(model.asked[1].messages) == 3


@pytest.mark.parametrize(
    ("script", "limits", "end"),
    [
        ([say("", ("echo", {"text": str(n)})) for n in range(9)], LoopLimits(turns=2), "turns"),
        ([say("a budget of 1 calls is reached", finish="budget")], LoopLimits(), "budget"),
        ([say("", ("echo", {"text": "a"})) for n in range(9)], LoopLimits(), "repeated"),
        ([say("I won't", finish="refused")], LoopLimits(), "refused"),
        ([say("half of", finish="length")], LoopLimits(), "cut"),
    ],
)
def test_a1_a_stopped_loop_says_what_is_known_and_what_is_missing(tape, script, limits, end):
    (text, why), _, _ = run(tape, script, [Echo("found {}")], limits=limits)
    assert why == end
    assert "STOPPED: " in text
    assert "MISSING: " in text
    assert ("- echo: found" in text) == (end in ("turns", "repeated"))


def test_the_loop_module_has_at_most_80_lines():
    import forge.agent.loop

    with open(forge.agent.loop.__file__) as module:  # noqa: PTH123
        assert sum(1 for _ in module) <= 80
