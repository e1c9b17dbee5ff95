"""Budgets across independent decisions: questions as of an instant, parallel processes, and runs of a backtest."""

import asyncio
import subprocess
import sys
from dataclasses import replace

from forge.agent.agent import Agent
from forge.core.clock import Simulated
from forge.core.config import from_mapping
from forge.core.tape import Tape
from forge.memory import Memory
from forge.model import Answer
from forge.model.budget import Meter
from forge.model.scripted import Scripted
from forge.walk.run import Ground, run_all
from pitlake.clock import instant, micros
from tests.forge.walks import DAYS, SINCE, scripted, world

DAY = {"budgets": {"day": {"calls": 3}}}


def test_a_days_budget_counts_every_question_of_that_day_at_any_as_of(tmp_path):
    done = Answer("done", (), "stop", "s", 10, 10)
    ends, question = [], 0
    for day in range(1, 6):
        at = f"2014-05-{day:02d}T12:00:00Z"
        memory = Memory(tmp_path / "forge", clock=Simulated(f"at-{micros(instant(at))}", at))
        model = Scripted([done])
        tape = Tape(tmp_path / "tape.sqlite")
        agent = Agent(memory, tape, lambda role, model=model: model, tmp_path / "none", from_mapping(DAY))
        decided = asyncio.run(agent.ask("What of growth?", at))
        ends, question = [*ends, decided.end], question + len(model.asked)
        memory.close()
    assert (ends, question) == (["answered"] * 3 + ["budget"] * 2, 3)
    assert "the day's budget of 3 calls is reached: 3 spent" in decided.answer


def test_parallel_processes_never_exceed_the_days_budget(tmp_path):
    program = """
import asyncio, sys
from forge.core.config import from_mapping
from forge.core.tape import Tape
from forge.model import Answer, Request
from forge.model.budget import Meter
from pitlake.clock import instant

class Slow:
    id = "scripted:agent"
    async def ask(self, request):
        await asyncio.sleep(0.05)
        return Answer("done", (), "stop", "s", 10, 10)

async def main():
    tape, at = Tape(sys.argv[1]), "2014-05-01T00:00:00Z"
    tape.begin(sys.argv[2], {"as_of": at})
    meter = Meter(tape, sys.argv[2], instant(at), from_mapping({"budgets": {"day": {"calls": 10}}}), "live")
    model = meter.over(lambda role: Slow())("agent")
    print(sum([(await model.ask(Request("x", ("y",)))).finish == "stop" for _ in range(8)]))

asyncio.run(main())
"""
    place = str(tmp_path / "tape.sqlite")
    Tape(place)
    running = [
        subprocess.Popen([sys.executable, "-c", program, place, f"D-{number}"], stdout=subprocess.PIPE)
        for number in range(3)
    ]
    assert sum(int(process.communicate(timeout=60)[0]) for process in running) == 10


def test_a_backtests_budget_covers_all_its_runs_until_the_budget_is_raised(tmp_path):
    settings = {"budgets": {"backtest": {"calls": 6}}}
    ground = Ground(tmp_path / "walks", world(tmp_path / "lake"), scripted, from_mapping(settings))
    walk = replace(DAYS, until=SINCE, triggers=("morning",))
    walks = [replace(walk, name="plain"), replace(walk, name="again", again=True)]
    first, second = run_all(walks, ground, 1)
    assert (first.ends, first.spent.calls, second.ends, second.spent.calls) == (
        {"answered": 1}, 4, {"budget": 1}, 2,
    )  # fmt: skip
    stopped = run_all([*walks, replace(walk, name="third")], ground, 1)[2]
    assert (stopped.decisions, stopped.spent.calls) == (0, 0)
    assert "the backtest's budget of 6 calls is reached: 6 spent" in stopped.stopped
    raised = replace(ground, config=from_mapping({"budgets": {"backtest": {"calls": 60}}}))
    assert run_all([*walks, replace(walk, name="third")], raised, 1)[2].ends == {"answered": 1}
    tapes = tuple(ground.tape(each) for each in walks)
    assert Meter(tapes[0], "", walk.ends, ground.config, backtest=tapes).spent_in_backtest().calls == 6
