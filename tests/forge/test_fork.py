"""Forks: a decision is repeated from its tape with one changed input, and each differing step is named. Ids: A1."""

import asyncio
import shutil
from dataclasses import replace
from datetime import date

import pytest
from click.testing import CliRunner

from forge import cli
from forge.agent.agent import Agent
from forge.agent.fork import ForkChange, fork
from forge.core.skill_loader import OURS
from forge.core.tape import Tape
from forge.evolution.again import run_trial
from forge.evolution.revisions import patched_hash
from forge.model import Answer, Call, NoModel
from forge.model.scripted import Scripted
from forge.providers.base import At
from forge.records import ProcessKnowledge, Proposal, Settles, render
from forge.tracking.settlement import settle
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_evolution import no_model
from tests.forge.test_providers import gdp
from tests.forge.world import NEW_VIEW, turn, wrote

T = "2014-05-29T12:29:59Z"
CLOCK = "fork", "2014-05-28T12:00:00Z"
JUDGED = Settles(query="macro_series", params={"series": "GDP", "limit": 1}, rule="value > 99999", by=date(2014, 5, 31))


def brain(request):
    """Fetch a figure, write a View based on it, and answer."""
    results = [each for each in request.messages if not isinstance(each, str | Answer)]
    if not results:
        return Answer(
            "", (Call("fetch", {"source": "economic", "params": {"op": "series", "series": "GDP"}}, "a"),), "tools"
        )
    low = "value=1.0" in results[0].returned[0].text
    if len(results) == 1:
        doubted = low or "Doubt growth." in request.system
        view = replace(NEW_VIEW, confidence=0.1 if doubted else 0.9, settles=JUDGED)
        return Answer("", (Call("write", {"path": "/memory/views/new.md", "content": render(view)}, "b"),), "tools")
    return Answer("It falls." if low else "It grows.")


@pytest.fixture
def agent(memory, tmp_path):
    put_rows(Lake(tmp_path / "lake"), "macro_observations", gdp("2014-04-30", 17149.6))
    lesson = ProcessKnowledge(id="new", skill=("view-validation",), category="thematic", weight=0.5, claim="Doubt.")
    wrote(turn(memory), "/memory/pk/new.md", lesson, "early")
    memory.journal.clock.move(T)
    outcome = Agent(memory, Tape(tmp_path / "forge-tape.sqlite"), lambda role: Scripted(brain), tmp_path / "lake")
    asyncio.run(outcome.ask("What of growth?", T, decision="d"))
    return outcome


def forked(agent, **change):
    before = agent.memory.journal.head(), agent.tape.steps("d")
    result = asyncio.run(fork(agent, "d", ForkChange(**change)))
    assert (agent.memory.journal.head(), agent.tape.steps("d")) == before
    return result


def named(result):
    return [(each.step, each.kind, each.change.partition(":")[0]) for each in result.differences]


def test_a1_a_fork_with_the_same_answer_changes_nothing_and_calls_no_model(agent):
    reply = agent.tape.steps("d")[1].answer
    result = forked(replace(agent, models=no_model), step=2, answer=reply)
    assert (result.answer, result.differences, result.same) == ("It grows.", (), 5)


def test_a_fork_can_replace_a_models_answer_with_plain_text(agent):
    result = forked(replace(agent, models=no_model), step=1, answer="Nothing follows from it.")
    assert result.answer == "Nothing follows from it."
    assert named(result) == [(1, "model", "answer")]


def test_a1_a_changed_fact_changes_the_decision_and_each_differing_step_is_named(agent):
    result = forked(agent, step=2, answer="economic series: 1 row\nvalue=1.0")
    assert result.answer == "It falls."
    assert named(result) == [
        (2, "tool", "answer"), (3, "model", "request"), (4, "tool", "request"), (5, "model", "request")
    ]  # fmt: skip
    assert "0.9" in result.differences[2].change
    assert result.same == 1


def test_a1_another_model_answers_from_its_step_on(agent):
    other = Scripted(lambda request: Answer("No view."), "other")
    result = forked(agent, step=3, models=lambda role: other)
    assert (result.answer, len(other.asked)) == ("No view.", 1)
    assert named(result) == [(3, "model", "answer")]


def test_a1_another_skill_is_in_the_prompt_from_the_first_step_on(agent, tmp_path):
    own = shutil.copytree(OURS / "rv-analysis", tmp_path / "own" / "rv-analysis").parent
    place = own / "rv-analysis" / "SKILL.md"
    place.write_text(place.read_text().replace("description: ", "description: Other words. ", 1))
    result = forked(agent, skills=own)
    assert (result.answer, named(result)[0]) == ("It grows.", (1, "model", "request"))
    assert "Other words" in result.differences[0].change


def test_a1_a_fork_without_a_model_ends_at_the_step_that_needs_a_model(agent):
    result = forked(replace(agent, models=no_model), step=2, answer="value=1.0")
    assert result.answer is None
    assert result.differences[-1].change.startswith("is needed, and model: none is configured")


@pytest.mark.parametrize("change", [{}, {"answer": "x", "skills": OURS}])
def test_a1_a_fork_changes_exactly_one_input(change):
    with pytest.raises(BadInput, match="is not exactly one change"):
        ForkChange(**change)


def trial_of(agent, *lessons):
    """Run the trial of a skill change that makes the agent doubt growth."""
    place = OURS / "view-validation"
    text = (place / "SKILL.md").read_text().replace("description: ", "description: Doubt growth. ", 1)
    sha256 = patched_hash(place, "SKILL.md", text)
    outcome = Proposal(id="SEP-001", skill=place.name, file="SKILL.md", sha256=sha256, body=text.strip(), links=lessons)
    return asyncio.run(run_trial(agent, outcome))


def test_m1_a_skill_change_is_tested_by_rerunning_decisions_after_its_lessons(agent):
    agent.memory.journal.clock.move("2014-06-02T12:00:00Z")
    at = At(as_of=agent.memory.journal.clock.now(), lake=agent.lake)
    assert [each.status for each in settle(agent.memory, at, lambda decision: [])] == ["failed"]
    assert str(trial_of(agent, "PK-001")) == "failed: 1 pairs, 1 better, 0 worse, p = 0.5000"
    files = turn(agent.memory, "s", agent.memory.read_instant(at.as_of))
    wrote(files, "/memory/pk/new.md", ProcessKnowledge(id="new", skill=("x",), category="thematic", weight=0.5), "late")
    assert str(trial_of(agent, "PK-001", "PK-002")) == "failed: 0 pairs, 0 better, 0 worse, p = 1.0000"
    with pytest.raises(NoModel, match="none is configured for the role agent"):
        trial_of(replace(agent, models=no_model), "PK-001")


def test_a1_a_step_that_is_not_there_is_refused(agent):
    with pytest.raises(BadInput, match="d has steps 1 to 5"):
        forked(agent, step=9, answer="x")


def test_a1_the_fork_command_lists_the_steps_that_differ(agent, tmp_path, monkeypatch):
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    monkeypatch.setattr("forge.model.routing.Routing.model", lambda routing, role: Scripted(brain))
    command = ["fork", "d", "--step", "2", "--set", "answer=value=1.0", "--lake", str(tmp_path / "lake")]
    reply = CliRunner().invoke(cli.command, command)
    assert reply.stdout.startswith("step 2 of agent (tool): answer: it was ")
    assert reply.stdout.endswith("1 steps are the same, 4 differ\nIt falls.\n")
    refused = CliRunner().invoke(cli.command, ["fork", "d", "--set", "weather=rain"]).exception
    assert "set: 'weather=rain' changes nothing" in str(refused)
