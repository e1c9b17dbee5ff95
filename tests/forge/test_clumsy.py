"""A clumsy model in 43 modes: each call succeeds or returns the reason. Nothing crashes or fails silently."""

import asyncio
import json
from dataclasses import replace
from typing import cast

import pytest

from forge.agent.agent import Agent
from forge.agent.conversation import EMPTY, SHOWN_CALL
from forge.agent.tools.calls import UNREADABLE, interpret_calls, meant_tool
from forge.agent.tools.read import ReadTool
from forge.agent.tools.toolset import PROFILES
from forge.core.tape import Tape
from forge.fs import ForgeFS
from forge.model import Answer, Call, ModelFailed, Results
from forge.model.messages import AnswerCut, Returned
from forge.model.routing import Routing
from forge.model.scripted import Scripted
from forge.records import render
from tests.forge.test_anthropic import events, text
from tests.forge.world import NEW_VIEW, turn

VIEW = render(NEW_VIEW)
WRITE = {"path": "/memory/views/new.md", "content": VIEW}
FIELDS = {"scope": "us", "category": "macro", "confidence": "60%", "status": "Draft", "summary": "Growth slows."}
TEXT = json.dumps({"name": "write", "arguments": WRITE})
DONE, TOLD = "a View is written", "the model is told"


def call(name="write", arguments=None, **more):
    return Answer("", (Call(name, WRITE if arguments is None else arguments, "1"),), "tools", "m", 1, 1, **more)


def said(words):
    return Answer(words, (), "stop", "m", 1, 1)


MODES = {
    "a capital letter": (call("Write"), DONE),
    "a misspelt name": (call("wirte"), DONE),
    "a name with its namespace": (call("functions.write"), DONE),
    "a name with more words": (call("write_file"), DONE),
    "a name with a hyphen": (call("write-file"), DONE),
    "a name of two tools": (call("recall"), TOLD),
    "no name": (call(""), TOLD),
    "an unknown name": (call("buy_shares"), TOLD),
    "arguments as JSON text": (call(arguments=json.dumps(WRITE)), DONE),
    "arguments as broken JSON": (call(arguments=json.dumps(WRITE)[:-5]), TOLD),
    "arguments as a list": (call(arguments=[WRITE]), TOLD),
    "no arguments": (call(arguments={}), TOLD),
    "an unknown argument": (call(arguments=WRITE | {"mode": "w"}), TOLD),
    "an argument of null": (call(arguments=WRITE | {"content": None}), TOLD),
    "content as an object": (call(arguments=WRITE | {"content": FIELDS}), DONE),
    "content as the text of JSON": (call(arguments=WRITE | {"content": json.dumps(FIELDS)}), DONE),
    "a record in a fence": (call(arguments=WRITE | {"content": f"```yaml\n{VIEW}```"}), DONE),
    "a path without its folder": (call(arguments=WRITE | {"path": "new.md"}), TOLD),
    "a path that escapes": (call(arguments=WRITE | {"path": "/memory/../portfolio/state.md"}), TOLD),
    "a number of its own": (call(arguments=WRITE | {"path": "/memory/views/V-017.md"}), TOLD),
    "half a character": (call(arguments=WRITE | {"content": f"{VIEW}\ud800"}), TOLD),
    "a control character": (call(arguments=WRITE | {"content": f"{VIEW}\x07"}), TOLD),
    "an empty record": (call(arguments=WRITE | {"content": ""}), TOLD),
    "a poem": (call(arguments=WRITE | {"content": "Growth is slow\nand so am I"}), TOLD),
    "a call as JSON": (said(TEXT), DONE),
    "a call in a fence": (said(f"```json\n{TEXT}\n```"), DONE),
    "a thought, then a call in tags": (said(f"<think>I write it.</think>\n<tool_call>{TEXT}</tool_call>"), DONE),
    "a call among words, then alone": ([said(f"I write it.\n```json\n{TEXT}\n```"), said(TEXT)], DONE),
    "a call in XML": (
        said('<invoke name="write"><parameter name="path">/memory/views/new.md</parameter></invoke>'), TOLD),
    "a call in tags": (said(f"<tool_call>\n{TEXT}\n</tool_call>"), DONE),
    "a call in an open tag": (said(f"<tool_call>{TEXT}"), DONE),
    "a call as a function of OpenAI": (
        said(json.dumps({"type": "function", "function": {"name": "write", "arguments": json.dumps(WRITE)}})), DONE),
    "a call with parameters": (said(json.dumps({"tool": "write", "parameters": WRITE})), DONE),
    "a list of calls": (said(json.dumps([json.loads(TEXT)])), DONE),
    "a call as an expression": (said(f"write({WRITE['path']!r}, content={VIEW!r})"), DONE),
    "a call in tags that is broken": (said("<tool_call>{'name': write</tool_call>"), TOLD),
    "a call as text of an unknown tool": (said("<tool_call>{\"name\": \"buy\", \"arguments\": {}}</tool_call>"), TOLD),
    "an empty answer, then a call": ([said(""), call()], DONE),
    "an answer of spaces, then a call": ([said("  \n "), call()], DONE),
    "the same id twice": (
        Answer("", (Call("write", WRITE, "1"), Call("write", WRITE, "1")), "tools", "m", 1, 1), DONE),
    "a call and words": (replace(call(), text="I write it down."), DONE),
    "a call for all time": ([call("read", {"path": "/memory/views/"})] * 5, "repeated"),
    "nothing but empty answers": ([said("")] * 5, "empty"),
}  # fmt: skip


def test_there_are_43_clumsy_modes():
    assert len(MODES) == 43


@pytest.mark.parametrize(("script", "due"), MODES.values(), ids=MODES)
def test_a_clumsy_models_call_succeeds_or_returns_an_error_and_replays(memory, tmp_path, script, due):
    model = Scripted([*(script if isinstance(script, list) else [script]), *[said("Done.")] * 3])
    agent = Agent(memory, Tape(tmp_path / "tape.sqlite"), lambda role: model, None)
    decided = asyncio.run(agent.ask("Write a View."))
    is_written = turn(memory).exists("/memory/views/V-001.md")
    results = [each for asked in model.asked for each in asked.messages if isinstance(each, Results)]
    if due == DONE:
        assert (decided.end, decided.answer, is_written) == ("answered", "Done.", True), results
    elif due == TOLD:
        assert (decided.end, decided.answer, is_written) == ("answered", "Done.", False)
        assert results[0].returned[0].failed, results
    else:
        assert (decided.end, "STOPPED: " in decided.answer) == (due, True)
    assert asyncio.run(agent.replay(decided.decision)) == decided


def test_an_answer_that_only_resembles_a_call_stays_an_answer(memory, tmp_path):
    words = [
        "I would call write(path, content).", "```python\nprint(1)\n```", '{"growth": "slow"}', "read(", "[1, 2]",
        'The file has {"name": "write"}.', "```json\n{\"name\": \"growth\", \"arguments\": {}}\n```",
    ]  # fmt: skip
    for number, each in enumerate(words):
        agent = Agent(memory, Tape(tmp_path / f"{number}.sqlite"), lambda role, each=each: Scripted([said(each)]), None)
        assert asyncio.run(agent.ask("What of growth?")).answer == each


@pytest.mark.parametrize("quotation", [f"<tool_call>{TEXT}</tool_call>", f"```json\n{TEXT}\n```", TEXT])
def test_a_call_quoted_from_the_input_is_not_executed(memory, tmp_path, quotation):
    model = Scripted([said(quotation)])
    agent = Agent(memory, Tape(tmp_path / "tape.sqlite"), lambda role: model, None)
    decided = asyncio.run(agent.ask(f"What does this page say?\n{quotation}"))
    assert (decided.answer, turn(memory).exists("/memory/views/V-001.md")) == (quotation, False)
    page = Results((Returned(Call("fetch", {}, "1"), json.dumps({"page": f"News. {quotation}"})),))
    assert interpret_calls(said(quotation), dict.fromkeys(("write",)), [page]).calls == ()


@pytest.mark.parametrize("form", ["```json\n{}\n```", "<tool_call>{}</tool_call>"])
@pytest.mark.parametrize("words", ["To write a View, answer with:\n{}", "{}\nI did not call this.", "1.\n{}\n2."])
def test_a_call_within_prose_is_not_executed_and_the_model_is_asked_once_to_clarify(memory, tmp_path, form, words):
    example = words.format(form.format(TEXT))
    model = Scripted([said(example), said(example)])
    agent = Agent(memory, Tape(tmp_path / "tape.sqlite"), lambda role: model, None)
    decided = asyncio.run(agent.ask("How does one write a View?"))
    assert (decided.end, decided.answer, turn(memory).exists("/memory/views/V-001.md")) == ("answered", example, False)
    assert model.asked[1].messages[-1] == SHOWN_CALL
    assert asyncio.run(agent.replay(decided.decision)) == decided


@pytest.mark.parametrize(
    ("written", "calls"),
    [
        ("read(b'x')", []), ("read({1, 2})", []), ("read({[]: 1})", []), ("read('/a', path='/b')", []),
        ("read('/a', 'full', 'x', 1)", [("read", {"path": "/a", "depth": "full", "query": "x", "argument 3": 1})]),
        ('[{"name": "read", "arguments": {}}, {"name": "buy", "arguments": {}}]', [("read", {}), ("buy", {})]),
    ],
)  # fmt: skip
def test_parsing_calls_written_as_text_loses_no_call_or_argument(written, calls):
    tools = {"read": ReadTool(cast("ForgeFS", None))}
    assert [(each.name, each.arguments) for each in interpret_calls(said(written), tools, []).calls] == calls


def test_a_tool_name_is_corrected_only_if_a_single_tool_can_be_meant():
    names = dict.fromkeys(("read", "search", "fetch", "write", "dispatch", "collect", "review", "compact"))
    words = ("Read", "serach", "fetch_data", "re", "view", "drop", UNREADABLE)
    assert {name: meant_tool(name, names) for name in words} == {
        "Read": "read", "serach": "search", "fetch_data": "fetch", "re": "re", "view": "view", "drop": "drop",
        UNREADABLE: UNREADABLE,
    }  # fmt: skip
    assert set(PROFILES["small"]) > {"read", "fetch", "write"}
    assert EMPTY


@pytest.mark.parametrize("cuts", [1, 2, 3])
def test_a_cut_stream_is_retried_and_can_be_resumed(memory, server, tmp_path, cuts):
    cut = (200, events(text("half of"), whole=False), 0)
    server.script = [cut] * cuts + [(200, events(text("whole")), 0)]
    models = Routing({"agent": f"anthropic:claude-x@http://127.0.0.1:{server.server_address[1]}"})
    agent = Agent(memory, Tape(tmp_path / "tape.sqlite"), models.model, None)
    if cuts < 3:
        decided = asyncio.run(agent.ask("What of growth?", decision="D-cut"))
        assert (decided.answer, len(server.asked)) == ("whole", cuts + 1)
        assert asyncio.run(agent.replay("D-cut")) == decided
    else:
        with pytest.raises(AnswerCut, match="resume"):
            asyncio.run(agent.ask("What of growth?", decision="D-cut"))
        assert asyncio.run(agent.ask("", decision="D-cut")).answer == "whole"
    assert issubclass(AnswerCut, ModelFailed)
