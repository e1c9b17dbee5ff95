"""A model is told the same on two market lakes that differ only after its instant, faults of their files included."""

import asyncio
import json
import shutil

import pytest

from forge.agent import Agent
from forge.clock import Simulated
from forge.memory import Memory
from forge.model.scripted import Scripted
from forge.records import render
from forge.tape import Tape
from pitlake.clock import instant
from pitlake.lake import Lake
from tests.doors.conftest import AS_OF, build_twins
from tests.forge.test_agent import say
from tests.forge.world import NEW_VIEW

NEWS = ("fetch", {"source": "news", "params": {"ticker": "NOG"}})
SCRIPT = [
    say("", NEWS, ("fetch", {"source": "market", "params": {"op": "price", "ticker": "NOG"}})),
    say("", ("read", {"path": "/session/context/ctx_001.md", "depth": "full"})),
    say(
        "",
        ("write", {"path": "/memory/views/new.md", "content": render(NEW_VIEW)}),
        ("search", {"scope": "/memory/", "query": "growth"}),
    ),
    say("Nothing new."),
]


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    return build_twins(tmp_path_factory.mktemp("twins"))


def told(root, folder, script):
    """All that the model was told in a turn on this lake: the requests and answers on its tape."""
    memory, tape, scripted = Memory(folder, clock=Simulated("test", AS_OF)), Tape(folder / "tape"), Scripted(script)
    try:
        agent = Agent(memory, tape, lambda role: scripted, root)
        asyncio.run(agent.ask("What of NOG?", AS_OF, decision="d"))
        return tape.steps("d")
    finally:
        memory.close()


def test_a_turn_is_told_nothing_of_later_rows(twins, tmp_path):
    ends, goes_on = (told(root, tmp_path / root.name, SCRIPT) for root in twins)
    assert ends == goes_on
    full = next(step.answer for step in ends if "receipts" in step.answer)
    assert len(json.loads(full[full.index("{") :])["data"]) == 10


def test_a_fault_of_the_lake_is_told_in_the_same_words_whatever_it_is(twins, tmp_path):
    texts = set()
    for root in twins:
        broken = shutil.copytree(root, tmp_path / f"{root.name} broken")
        for file in Lake(broken).snapshot().tables["news"].files:
            if file.lo <= instant(AS_OF):
                (broken / file.path).unlink()
        steps = told(broken, tmp_path / root.name, [say("", NEWS), say("Missing.")])
        texts |= {step.answer for step in steps if step.kind == "tool"}
    (text,) = texts
    assert text.startswith("[FETCH FAILED | news] ")
    assert not any(part in text for part in (str(tmp_path), "parquet", "version", "LakeFault"))
