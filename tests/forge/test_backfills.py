"""Replays of decisions after backfills of the market lake, and after one of its rows was altered."""

import asyncio
import json
import re
import sqlite3

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from forge.agent.agent import Agent
from forge.core.tape import Diverged, Tape
from forge.model import Answer, Call
from forge.model.scripted import Scripted
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_providers import gdp

T = "2014-05-29T12:30:01Z"
CLOCK = "test", T
LATEST = Call("fetch", {"source": "economic", "params": {"series": ["GDP"]}}, "latest")
VINTAGES = Call(
    "fetch", {"source": "economic", "params": {"op": "vintages", "series": "GDP", "period": "2014-01-01"}}, "all"
)
SCRIPT = [Answer("", (LATEST, VINTAGES), "tools"), Answer("GDP was cut to 17101.3.")]


class Desk:
    def __init__(self, memory, root):
        self.memory, self.root, self.lake = memory, root, Lake(root / "market")
        put_rows(self.lake, "macro_observations", gdp("2014-04-30", 17149.6), gdp("2014-05-29", 17101.3))
        self.decided = self.ask()

    def agent(self, script):
        scripted = Scripted(script)
        return Agent(self.memory, Tape(self.root / "tape.sqlite"), lambda role: scripted, self.lake.root)

    def ask(self):
        return asyncio.run(self.agent(SCRIPT).ask("What of growth?", T))

    def replay(self, mode):
        return asyncio.run(self.agent([]).replay(self.decided.decision, mode))

    def told(self, decided):
        steps = self.agent([]).tape.steps(decided.decision)
        return [re.sub(r"^.*\n", "", step.answer) for step in steps if step.kind == "tool"]


@pytest.fixture
def desk(memory, tmp_path):
    return Desk(memory, tmp_path)


def test_a_replay_comes_out_the_same_after_three_backfills(desk):
    backfills = [("2014-05-29", 17000.0), ("2014-03-27", 17150.0), ("2014-06-25", 17016.0)]
    for vintage, value in backfills:
        put_rows(desk.lake, "macro_observations", gdp(vintage, value) | {"evidence": f"late:{vintage}:{value}"})
        assert desk.replay("strict") == desk.replay("live-tools") == desk.decided
    again = desk.ask()
    assert again.receipt.market == desk.decided.receipt.market + 3
    assert desk.told(again) != desk.told(desk.decided)


def test_a_live_tools_replay_names_the_step_that_read_an_altered_market_row(desk):
    places = [each for each in desk.lake.root.rglob("*.parquet") if "vintage_date" in pq.read_schema(each).names]
    for place, table in [(each, pq.read_table(each, partitioning=None)) for each in places]:
        at = table.schema.get_field_index("value")
        values = pc.if_else(pc.equal(table["value"], 17101.3), 17101.4, table["value"])
        pq.write_table(table.set_column(at, table.schema.field(at), values), place)
    assert desk.replay("strict") == desk.decided
    with pytest.raises(Diverged, match=r"step 2 of agent \(tool\) differs: answer of fetch: ") as caught:
        desk.replay("live-tools")
    assert (caught.value.lane, caught.value.step) == ("agent", 2)


@pytest.mark.parametrize("mode", ["strict", "live-tools"])
def test_a_replay_checks_the_receipts_lake_answers_against_the_sessions_files(desk, mode):
    assert len(desk.decided.receipt.tools) == 2
    with sqlite3.connect(desk.root / "tape.sqlite") as tape:  # anyone with access to the machine can do this
        tape.execute("DROP TRIGGER receipts_UPDATE")
        document = json.loads(tape.execute("SELECT receipt FROM receipts").fetchone()[0])
        document["tools"][1]["answer"] = "0" * 64
        tape.execute("UPDATE receipts SET receipt = ?", (json.dumps(document),))
    tape.close()
    with pytest.raises(Diverged, match=r"step 0 of receipt \(tools\) differs"):
        desk.replay(mode)


def test_an_agent_cannot_overwrite_a_fetched_file(desk):
    over = Call("write", {"path": "/session/context/ctx_003.md", "content": "mine"}, "over")
    script = [Answer("", (LATEST,), "tools"), Answer("", (over,), "tools"), Answer("done")]
    decided = asyncio.run(desk.agent(script).ask("What of growth?", T))
    answers = [step.answer for step in desk.agent([]).tape.steps(decided.decision) if step.kind == "tool"]
    assert answers[0].startswith("[ctx_003 ")
    assert answers[1].startswith("Not written. path: '/session/context/ctx_003.md' is written by code alone")
    assert decided.receipt.tools == desk.decided.receipt.tools[:1]
