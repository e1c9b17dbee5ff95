"""A model reads the same from two market lakes that differ only after its instant, even with damaged files."""

import asyncio
import json
import shutil
from contextlib import closing

import pytest

from forge.agent.agent import Agent
from forge.agent.tasks.executor import Executor
from forge.agent.tasks.spec import Task, TaskResult
from forge.agent.tools.write import WriteTool
from forge.core.clock import Simulated
from forge.core.tape import Tape
from forge.memory import Memory
from forge.model.scripted import Scripted
from forge.records import render
from pitlake.clock import instant
from pitlake.errors import GONE, LakeFault
from pitlake.lake import Lake
from tests.doors.conftest import AS_OF, build_twins
from tests.forge.world import NEW_VIEW, say

NEWS = ("fetch", {"source": "news", "params": {"ticker": "QBG"}})


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    return build_twins(tmp_path_factory.mktemp("twins"))


def requests_and_answers(root, folder, **scripts):
    """Return the tape of a turn on this lake, with each role's requests and answers."""
    models = {role: Scripted(script, role) for role, script in scripts.items()}
    tape = Tape(folder / "tape")
    with closing(Memory(folder, clock=Simulated("test", AS_OF))) as memory:
        asyncio.run(Agent(memory, tape, models.__getitem__, root).ask("What of QBG?", AS_OF, decision="d"))
    return tape.steps("d")


def test_a_turn_sees_nothing_of_later_rows(twins, tmp_path):
    script = [
        say("", NEWS, ("fetch", {"source": "market", "params": {"op": "price", "ticker": "QBG"}})),
        say("", ("read", {"path": "/session/context/ctx_001.md", "depth": "full"})),
        say(
            "",
            ("write", {"path": "/memory/views/new.md", "content": render(NEW_VIEW)}),
            ("search", {"scope": "/memory/", "query": "growth"}),
        ),
        say("Nothing new."),
    ]
    ends, goes_on = (requests_and_answers(root, tmp_path / root.name, agent=script) for root in twins)
    assert ends == goes_on
    full = next(step.answer for step in ends if "receipts" in step.answer)
    assert len(json.JSONDecoder().raw_decode(full, full.index("{"))[0]["data"]) == 10


CREW = {
    "agent": [
        say("", ("dispatch", {"id": "one", "skill": "event-analysis", "objective": "QBG"})),
        say("", ("collect", {"target": "all"})),
        say("", ("review", {"output": "QBG rises", "focus": "news"})),
        say("Nothing new."),
    ],
    "subagent": [say("", NEWS), say("### SUMMARY\nNothing new.")],
    "review": [say("", NEWS), say("VERDICT: approve")],
}


def broken(root, place, when):
    """Return a copy of a lake without the news files that match `when`, and these files."""
    copy = shutil.copytree(root, place)
    files = [each for each in Lake(copy).snapshot().tables["news"].files if when(each)]
    for file in files:
        (copy / file.path).unlink()
    return copy, files


def test_sub_agents_and_reviewers_see_nothing_of_later_rows_or_damaged_later_files(twins, tmp_path):
    ends, goes_on = twins
    hurt, files = broken(goes_on, tmp_path / "hurt", lambda file: file.lo > instant(AS_OF))
    assert files
    whole, later, damaged = (
        requests_and_answers(root, tmp_path / f"of {root.name}", **CREW) for root in (ends, goes_on, hurt)
    )
    assert whole == later == damaged
    assert sum("[ctx_001 | news" in step.answer or "[ctx_002 | news" in step.answer for step in whole) >= 2


def test_a_damaged_file_is_reported_identically_on_lakes_that_differ_only_later(twins, tmp_path):
    copies = (broken(root, tmp_path / f"{root.name} hurt", lambda each: each.lo <= instant(AS_OF))[0] for root in twins)
    ends, goes_on = (requests_and_answers(root, tmp_path / f"of {root.name}", **CREW) for root in copies)
    assert ends == goes_on
    assert not any(part in step.answer for step in ends for part in (str(tmp_path), "parquet", "LakeFault"))


@pytest.mark.parametrize("place", ["work", "ended"])
def test_a_task_that_fails_on_a_lake_fault_hides_the_faults_details(place):
    async def dies(task, used):
        if place == "work":
            raise LakeFault("damaged", "tables/news/later.parquet")
        return TaskResult(id=task.id, status="ok", summary="fine")

    def ended(task, result):
        if place == "ended":
            raise LakeFault("damaged", "tables/news/later.parquet")
        return result

    async def run():
        executor = Executor(dies, ended)
        executor.dispatch(Task(id="one", skill="s", objective="o"))
        await executor.wait(["one"])
        return executor.results["one"]

    result = asyncio.run(run())
    assert (result.status, result.error) == ("failed", GONE)


def test_a_write_that_fails_on_a_lake_fault_hides_the_faults_details():
    class Faulty:
        def write_file(self, path, content, *, call_id):
            raise LakeFault("damaged", "tables/forge_memory/later.parquet")

    assert WriteTool(Faulty()).execute("/memory/views/new.md", "", call_id="1") == f"Not written. {GONE}"
