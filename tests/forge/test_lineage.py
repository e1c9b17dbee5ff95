"""The lineage of a decision: edges from evidence to writes and their consequences."""

import asyncio
from dataclasses import replace

import pytest

from forge.agent import lineage
from forge.agent.agent import Agent
from forge.core.tape import Tape
from forge.model.scripted import Scripted
from forge.records import render
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_providers import gdp
from tests.forge.world import NEW_EXPRESSION, NEW_VIEW, say, turn, wrote

T = "2014-05-29T12:29:59Z"
CLOCK = "test", T
ASKED = {"source": "economic", "params": {"op": "vintages", "series": "GDP", "period": "2014-01-01"}}


@pytest.fixture
def decided(memory, tmp_path):
    """A decision that read rows and wrote a View. A later session drafted an Expression from the View."""
    lake = Lake(tmp_path / "market")
    vintages = (gdp(f"2014-05-{number:02}", float(number)) | {"evidence": f"alfred:{number}"} for number in range(1, 8))
    put_rows(lake, "macro_observations", *vintages)
    own = ("write", {"path": "/session/context/gaps.md", "content": "Prices are missing."})
    view = ("write", {"path": "/memory/views/new.md", "content": render(NEW_VIEW)})
    model = Scripted([say("", ("fetch", ASKED), own, view), say("Growth slows: V-001.")])
    agent = Agent(memory, Tape(tmp_path / "tape.sqlite"), lambda role: model, lake.root)
    name = asyncio.run(agent.ask("What of growth?", T)).decision
    later = turn(memory, "later", memory.read_instant(memory.journal.clock.now()))
    wrote(later, "/memory/expressions/new.md", replace(NEW_EXPRESSION, status="draft"), "expression")
    return agent, name


def test_lineage_leads_from_source_rows_through_the_decision_to_later_records(decided):
    agent, name = decided
    edges = [(edge.earlier, edge.later, edge.relation) for edge in lineage.lineage(agent.memory, agent.tape, name)]
    ctx = "/session/context/ctx_001.md"
    assert edges == [
        *((f"alfred:{number}", ctx, "row of") for number in range(1, 6)),
        ("2 more", ctx, "rows of"),
        (ctx, name, "economic vintages (period=2014-01-01, series=GDP)"),
        (name, "V-001", "wrote"),
        ("V-001", "E-001", "view"),
    ]


def test_text_and_mermaid_show_every_edge(decided):
    agent, name = decided
    edges = lineage.lineage(agent.memory, agent.tape, name)
    assert f"{name} → V-001 (wrote)" in lineage.as_text(edges).splitlines()
    lines = lineage.as_mermaid([*edges, lineage.Edge('a "b"', "V-001", "x & y")]).splitlines()
    assert lines[0] == "flowchart LR"
    assert sum("-->" in line for line in lines) == len(edges) + 1
    assert any("a &quot;b&quot;" in line for line in lines)
    assert any("x &amp; y" in line for line in lines)


def test_an_unknown_decision_is_refused(decided):
    with pytest.raises(BadInput, match="not on the tape"):
        lineage.lineage(decided[0].memory, decided[0].tape, "D-0")
