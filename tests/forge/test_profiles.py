"""The profile of a small local model, and the control arm: the same question to a model trained before T."""

import asyncio
import json

import pytest

from forge.agent.agent import Agent
from forge.agent.prompt import SMALL_SKILL
from forge.agent.tools.base import tokens
from forge.cli import CONTROL
from forge.core.config import from_mapping
from forge.core.tape import Tape
from forge.model import Answer, Call
from forge.model.scripted import Scripted
from forge.records import render
from pitlake import cli
from pitlake.errors import BadInput
from tests.forge.test_openai import called, chunks
from tests.forge.world import NEW_VIEW, turn

WRITE = {"path": "/memory/views/new.md", "content": render(NEW_VIEW)}
QUESTION, T = "What of growth?", "2014-05-08T20:00:00Z"


def decided(memory, tmp_path, config):
    """Return a decision, its replay, its model's requests, and whether its View was written."""
    script = [Answer("", (Call("write", WRITE, "1"),), "tools", "m", 1, 1), Answer("It slows.", (), "stop", "m", 1, 1)]
    model = Scripted(script)
    agent = Agent(memory, Tape(tmp_path / "tape.sqlite"), lambda role: model, None, config)
    outcome = asyncio.run(agent.ask(QUESTION))
    is_written = turn(memory).exists("/memory/views/V-001.md")
    again = asyncio.run(Agent(memory, agent.tape, lambda role: model, None).replay(outcome.decision))
    return outcome, again, model.asked, is_written


def size(request):
    return tokens(request.system) + tokens(json.dumps([[tool.description, tool.schema] for tool in request.tools]))


def test_a_small_profile_has_a_short_prompt_three_tools_and_one_skill(memory, tmp_path):
    small = from_mapping({"model": {"profile": "small"}})
    outcome, again, (first, _), is_written = decided(memory, tmp_path, small)
    assert is_written
    assert outcome == again
    assert [tool.name for tool in first.tools] == ["read", "write", "fetch"]
    assert first.system.count("/skills/") == 1
    assert SMALL_SKILL in first.system
    assert size(first) <= 900  # ChronoGPT's context has 1,792 tokens and DatedGPT's 2,048.


def test_the_full_profile_is_the_default_and_three_times_as_long(memory, tmp_path):
    *_, (first, _), _ = decided(memory, tmp_path, from_mapping({}))
    assert len(first.tools) == 8
    assert size(first) >= 3 * 900


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"profile": "tiny"}, "model.profile: is 'tiny'; it should be 'full' or 'small'"),
        ({"control_trained_to": "2013"}, "control_trained_to: '2013' is not a day; write one such as 2013-12-31"),
        ({"controll": "x"}, "model.controll: is not a known key"),
    ],
)
def test_an_invalid_model_setting_is_refused_with_its_key(settings, problem):
    with pytest.raises(BadInput, match=problem):
        from_mapping({"model": settings})


@pytest.fixture
def home(place, monkeypatch):
    monkeypatch.setenv("FORGE_LAKE", str(place / "forge"))
    monkeypatch.setenv("PITLAKE_LAKE", str(place / "none"))
    return place


def settings(home, **model):
    lines = [f'{name} = "{value}"' for name, value in model.items()]
    (home / "forge.toml").write_text("\n".join(["[model]", *lines]))


@pytest.mark.parametrize(
    ("model", "arguments", "problem"),
    [
        ({}, ("--as-of", T), "model.control: is not set; write [model] control = "),
        ({"control": "openai:old@http://127.0.0.1:9/v1"}, (), "--control: needs an instant; give --as-of"),
        ({"control": "openai:old@http://127.0.0.1:9/v1"}, ("--as-of", T),
         "model.control_trained_to: the end of the training of openai:old@http://127.0.0.1:9/v1 is unknown"),
        ({"control": "openai:old@http://127.0.0.1:9/v1", "control_trained_to": "2014-05-08"}, ("--as-of", T),
         "was trained up to 2014-05-08, which is not before 2014-05-08"),
    ],
)  # fmt: skip
def test_an_incomplete_or_too_recent_control_arm_is_refused(home, capsys, model, arguments, problem):
    settings(home, **model)
    assert cli.invoke(["forge", "ask", QUESTION, "--control", *arguments]) == 2
    assert problem in capsys.readouterr().err
    assert not [*home.glob("forge-simulated*")]


def test_the_control_arm_asks_its_own_model_on_a_memory_of_its_own(home, server, capsys, monkeypatch):
    place = f"http://127.0.0.1:{server.server_address[1]}/v1"
    monkeypatch.setenv("FORGE_MODEL_AGENT", f"openai:new@{place}")
    settings(home, control=f"openai:datedgpt-2013@{place}", control_trained_to="2013-12-31", profile="small")
    written = called(0, name="write", arguments=json.dumps(WRITE))
    answers = {"control": "Slower.", "agent": "Faster."}
    for arm, options in (("agent", ()), ("control", ("--control",))):
        server.script = [(200, chunks(written, finish="tool_calls"), 0), (200, chunks({"content": answers[arm]}), 0)]
        code = cli.invoke(["forge", "ask", QUESTION, "--as-of", T, *options, "--format", "json"])
        outcome = json.loads(capsys.readouterr().out)
        assert (code, outcome["answer"]) == (0, answers[arm])
        receipt = outcome["receipt"]
        assert [*receipt["models"].values()] == ([None] if arm == "agent" else ["2013-12-31"])
        assert receipt["exposure"] == ("exposed" if arm == "agent" else "clean")
        assert cli.invoke(["forge", "replay", outcome["decision"]]) == 0
        capsys.readouterr()
    assert [each["model"] for each in server.asked] == ["new", "new", "datedgpt-2013", "datedgpt-2013"]
    first, _, control, _ = (json.dumps(each["messages"][0]) for each in server.asked)
    assert first == control
    assert sorted(each.name.endswith(CONTROL) for each in home.glob("forge-simulated-at-*") if each.is_dir()) == [
        False, True,
    ]  # fmt: skip
    assert "Your training data ends on 2013-12-31" in json.dumps(server.asked[2]["messages"][1])
