"""Budgets per run and per day: reported when reached, recorded on tape and in the session, and equal in replays."""

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from forge.agent.agent import Agent
from forge.core.config import from_mapping
from forge.core.tape import Tape
from forge.model import Answer, Call, ModelFailed
from forge.model.budget import Meter, Spent, day_of
from forge.model.prices import price
from forge.model.scripted import Scripted
from pitlake import cli
from pitlake.clock import instant
from pitlake.errors import BadInput
from tests.forge.world import turn

T = "2014-05-29T12:29:59Z"
CLOCK = "test", T
SAME_DAY, NEXT_DAY = "2014-05-30T03:59:59Z", "2014-05-30T04:00:00Z"
PRICED = {"scripted:agent": {"input": 1.0, "output": 1000.0}}


def listed(number):
    return Answer("", (Call("read", {"path": f"/memory/views/V-{number:03d}.md"}, "1"),), "tools", "s", 10, 5_000)


class Desk:
    def __init__(self, memory, root):
        self.memory, self.root = memory, root

    def agent(self, settings, **roles):
        self.models = {role: Scripted(script, role) for role, script in roles.items()}
        tape, models = Tape(self.root / "tape.sqlite"), self.models.__getitem__
        return Agent(self.memory, tape, models, self.root / "none", from_mapping(settings))

    def ask(self, settings, as_of=T, decision="", **roles):
        self.memory.journal.clock.move(max(self.memory.journal.clock.now(), instant(as_of)))
        return asyncio.run(self.agent(settings, **roles).ask("What of growth?", as_of, decision=decision))

    def asked(self):
        return sum(len(model.asked) for model in self.models.values())


@pytest.fixture
def desk(memory, tmp_path):
    return Desk(memory, tmp_path)


@pytest.mark.parametrize(
    ("budget", "question", "unit"),
    [({"calls": 2}, 2, "2 calls"), ({"tokens": 20_000}, 4, "20,000 tokens"), ({"dollars": 20.0}, 4, "20.0 dollars")],
)
def test_a_run_that_reaches_a_budget_says_which_and_how_to_raise_it(desk, budget, question, unit):
    settings = {"budgets": {"run": budget}, "prices": PRICED}
    decided = desk.ask(settings, decision="D-1", agent=[listed(number) for number in range(9)])
    scope = next(iter(budget))
    assert (decided.end, desk.asked()) == ("budget", question)
    assert f"STOPPED: the run's budget of {unit} is reached: " in decided.answer
    assert f"raise {scope} in [budgets.run] in Forge's settings" in decided.answer
    assert decided.receipt.end == "budget"
    assert '"finish": "budget"' in Tape(desk.root / "tape.sqlite").steps("D-1")[-1].answer
    history = turn(desk.memory, decided.receipt.session, at=desk.memory.read_instant(instant(T)))
    assert f"Stopped: the run's budget of {unit} is reached" in history.read_file("/session/turn_history.md")
    again = asyncio.run(desk.agent({}, agent=[]).replay("D-1"))
    assert again == decided


def test_sub_agent_calls_count_against_the_runs_budget(desk):
    def dispatch(name):
        return Call("dispatch", {"id": name, "skill": "rv-analysis", "objective": f"look at {name}"}, name)

    script = [
        Answer("", (dispatch("one"), dispatch("two"), dispatch("three")), "tools", "s", 10, 10),
        Answer("", (Call("collect", {"target": "all"}, "c"),), "tools", "s", 10, 10),
        Answer("done", (), "stop", "s", 10, 10),
    ]
    summary = Answer("### SUMMARY\nSeen.", (), "stop", "s", 10, 10)
    decided = desk.ask({"budgets": {"run": {"calls": 4}}}, decision="D-1", agent=script, subagent=[summary] * 3)
    assert (decided.end, desk.asked()) == ("budget", 4)
    reply = {step.lane: step.answer for step in Tape(desk.root / "tape.sqlite").steps("D-1") if "end " in step.lane}
    failed = [lane for lane, answer in reply.items() if "the run's budget of 4 calls is reached" in answer]
    assert len(failed) == 1
    assert asyncio.run(desk.agent({}).replay("D-1")) == decided


def test_a_days_budget_counts_all_its_runs_by_the_triggers_clock(desk):
    settings = {"budgets": {"day": {"calls": 3}}}
    two = [listed(1), Answer("done", (), "stop", "s", 10, 10)]
    assert desk.ask(settings, agent=two).end == "answered"
    late = desk.ask(settings, SAME_DAY, agent=two)
    assert (late.end, desk.asked()) == ("budget", 1)
    assert "the day's budget of 3 calls is reached: 3 spent" in late.answer
    assert desk.ask(settings, NEXT_DAY, agent=two).end == "answered"
    assert day_of(instant(T), "America/New_York") == (instant("2014-05-29T04:00:00Z"), instant(NEXT_DAY))


def test_spending_of_concurrent_runs_counts_toward_the_day(desk):
    done = [Answer("done", (), "stop", "s", 10, 10)]
    meter = Meter(Tape(desk.root / "tape.sqlite"), "D-1", instant(T), from_mapping({}))
    counted = []
    for _ in range(3):
        desk.ask({}, agent=done)
        counted.append((meter.spent()[1].calls, meter.spent()[1].tokens))
    assert counted == [(1, 20), (2, 40), (3, 60)]
    assert meter.spent()[0] == Spent()


def test_a_resumed_run_counts_its_earlier_and_failed_calls(desk):
    settings = {"budgets": {"run": {"calls": 3}}}
    with pytest.raises(ModelFailed):
        desk.ask(settings, decision="D-1", agent=[listed(1)])
    decided = desk.ask(settings, decision="D-1", agent=[listed(2), Answer("done")])
    assert (decided.end, desk.asked()) == ("budget", 1)


def test_a_request_that_fails_counts_as_a_call(desk):
    def dead(request):
        raise ModelFailed("dead")

    script = [Answer("", (Call("dispatch", {"id": "one", "skill": "rv-analysis", "objective": "x"}, "1"),), "tools")]
    script += [Answer("", (Call("collect", {"target": "all"}, "2"),), "tools"), Answer("done")]
    settings = {"budgets": {"run": {"calls": 4}}, "executor": {"retries": 5}}
    decided = desk.ask(settings, agent=script, subagent=dead)
    assert decided.end == "budget"
    assert desk.asked() == 4


@pytest.mark.parametrize("ended", [False, True], ids=["killed", "failed"])
def test_unanswered_requests_of_another_process_count_toward_the_day(desk, ended):
    program = """
import asyncio, os, sys
from forge.model.budget import Meter
from forge.core.config import from_mapping
from forge.model import ModelFailed, Request
from forge.core.tape import Tape
from pitlake.clock import instant

class Dead:
    id = "scripted:agent"
    async def ask(self, request):
        if sys.argv[3] == "False":
            os._exit(9)
        raise ModelFailed("dead")

tape = Tape(sys.argv[1])
tape.begin("D-0", {"as_of": sys.argv[2]})
model = Meter(tape, "D-0", instant(sys.argv[2]), from_mapping({})).over(lambda role: Dead())("agent")
asyncio.run(model.ask(Request("You are Forge.", ("x" * 4_000,))))
"""
    place = str(desk.root / "tape.sqlite")
    done = subprocess.run([sys.executable, "-c", program, place, T, str(ended)], capture_output=True, check=False)
    assert done.returncode == (1 if ended else 9), done.stderr
    run, day = Meter(Tape(place), "D-1", instant(T), from_mapping({})).spent()
    assert (run, day.calls, day.tokens > 1_000) == (Spent(), 1, not ended)
    late = desk.ask({"budgets": {"day": {"calls": 1}}}, SAME_DAY, agent=[Answer("done", (), "stop", "s", 10, 10)])
    assert (late.end, desk.asked()) == ("budget", 0)
    assert desk.ask({"budgets": {"day": {"calls": 1}}}, NEXT_DAY, agent=[Answer("done")]).end == "answered"


def test_a_dollar_budget_stops_before_any_call_if_the_models_price_is_unknown(desk):
    decided = desk.ask({"budgets": {"day": {"dollars": 5.0}}}, agent=[Answer("done")])
    assert (decided.end, desk.asked(), decided.receipt.models) == ("budget", 0, {})
    assert "the price of scripted:agent is unknown; give input and output" in decided.answer
    assert '[prices."scripted:agent"]' in decided.answer


def test_earlier_spending_of_an_unpriced_model_exceeds_any_dollar_budget(desk):
    assert desk.ask({}, agent=[Answer("done", (), "stop", "s", 1, 1)]).end == "answered"
    with closing(sqlite3.connect(desk.root / "tape.sqlite")) as tape, tape:
        tape.execute("DROP TRIGGER steps_UPDATE")
        tape.execute("UPDATE steps SET request = replace(request, 'scripted:agent', 'scripted:other')")
    decided = desk.ask({"budgets": {"day": {"dollars": 5.0}}, "prices": PRICED}, agent=[Answer("done")])
    assert (decided.end, desk.asked()) == ("budget", 0)


def test_prices_come_from_the_settings_or_the_price_list():
    own = from_mapping({"prices": PRICED}).prices
    assert price("scripted:agent", own) == own["scripted:agent"]
    assert price("scripted:agent", {}) is None
    assert price("openai:a-local-model", {}) is None
    listed_price = price("anthropic:claude-opus-4-5", {})
    assert (listed_price.input, listed_price.output) == (5.0, 25.0)
    with pytest.raises(BadInput, match=r"prices\.x\.output: is missing"):
        from_mapping({"prices": {"x": {"input": 1.0}}})
    with pytest.raises(BadInput, match=r"budgets\.run\.calls"):
        from_mapping({"budgets": {"run": {"calls": "many"}}})
    assert from_mapping({"budgets": {"run": {"dollars": 2}}}).budgets.run.tokens == 1_000_000
    assert Spent(1, 2, 3.0).plus(Spent(1, 1, 1.0)) == Spent(2, 3, 4.0)


def test_ask_reports_an_exhausted_budget_and_exits_with_1(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "forge.toml").write_text("[budgets.run]\ncalls = 0\n")
    for name, value in (("FORGE_CONFIG", "forge.toml"), ("FORGE_LAKE", "memory"), ("ANTHROPIC_API_KEY", "a-key")):
        monkeypatch.setenv(name, value)
    assert cli.invoke(["forge", "ask", "What of growth?"]) == 1
    output = capsys.readouterr()
    assert "STOPPED: the run's budget of 0 calls is reached" in output.out
    assert "(budget, " in output.err
