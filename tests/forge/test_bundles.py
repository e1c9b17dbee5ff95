"""A decision's prompt, skills and tools are on its tape, so its replay stays the same when they change."""

import asyncio
import shutil
from dataclasses import replace

import pytest

from forge.agent import prompt
from forge.agent.agent import Agent
from forge.agent.tools.fetch import FetchTool
from forge.core.tape import Diverged, Tape
from forge.model.scripted import Scripted
from tests.forge.world import say

T = "2014-05-29T12:29:59Z"
CLOCK = "test", T


SCRIPT = [
    say("", ("read", {"path": "/skills/"}), ("read", {"path": "/skills/my-method/SKILL.md"})),
    say("", ("dispatch", {"id": "look", "skill": "my-method", "objective": "Look."})),
    say("## SUMMARY\n\nNothing moved."),
    say("", ("collect", {"target": "all"})),
    say("Nothing moved."),
]


def skill(folder, name, text):
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {text}\nallowed-tools: read\n---\n\n{text}\n")


@pytest.fixture
def decided(memory, tmp_path):
    skill(tmp_path / "skills", "my-method", "Look twice.")
    models = {"agent": Scripted([SCRIPT[0], SCRIPT[1], SCRIPT[3], SCRIPT[4]]), "subagent": Scripted([SCRIPT[2]])}
    tape = Tape(tmp_path / "tape.sqlite")
    agent = Agent(memory, tape, models.__getitem__, tmp_path / "none", skills=tmp_path / "skills")
    return agent, asyncio.run(agent.ask("What moved?", T))


def upgraded(folder, monkeypatch):
    monkeypatch.setattr(prompt, "FIXED", "You are Forge, of another release.\n")
    outcome = FetchTool.__init__

    def another(tool, *arguments):
        outcome(tool, *arguments)
        tool.spec = replace(tool.spec, description="Fetch whatever.", schema={"type": "object"})

    monkeypatch.setattr(FetchTool, "__init__", another)


CHANGES = {
    "added": lambda folder, patch: skill(folder, "another-method", "Look away."),
    "changed": lambda folder, patch: skill(folder, "my-method", "Look three times, and longer."),
    "removed": lambda folder, patch: shutil.rmtree(folder / "my-method"),
    "upgraded": upgraded,
}


@pytest.mark.parametrize("mode", ["strict", "live-tools"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_replay_is_unchanged_after_skills_prompt_and_tools_change(decided, tmp_path, monkeypatch, change, mode):
    agent, first = decided
    change(tmp_path / "skills", monkeypatch)
    assert asyncio.run(agent.replay(first.decision, mode)) == first


def test_skills_shared_by_two_decisions_are_stored_once(decided):
    agent, first = decided
    again = replace(agent, models=lambda role: Scripted([say("Nothing.")]))
    second = asyncio.run(again.ask("And now?", T, trigger="schedule")).decision
    contents = [agent.tape.contents(name) for name in (first.decision, second)]
    assert contents[0]["skills"] == contents[1]["skills"]
    folder = agent.tape.place.with_name("tape.sqlite-skills")
    assert len(list(folder.iterdir())) == 1


def test_a_decision_without_a_bundle_replays_on_current_skills_or_diverges(decided, tmp_path, monkeypatch):
    agent, first = decided
    monkeypatch.setattr(Tape, "contents", lambda tape, decision: {})
    assert asyncio.run(agent.replay(first.decision)) == first
    skill(tmp_path / "skills", "my-method", "Look three times, and longer.")
    with pytest.raises(Diverged):
        asyncio.run(agent.replay(first.decision))
