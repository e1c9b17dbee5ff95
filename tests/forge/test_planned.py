"""A small model's turn: a fetch, then a View, each in a form that its server enforces."""

import asyncio
import json
from dataclasses import replace

import jsonschema
import pytest

from forge.agent.agent import Agent
from forge.agent.tools.base import tokens
from forge.core.config import from_mapping
from forge.core.tape import Tape
from forge.memory import Memory
from forge.model.routing import Routing
from forge.records import KINDS, parse
from tests.forge.small_model import lake_of
from tests.forge.test_openai import chunks
from tests.forge.world import turn

PLANNED = from_mapping({"model": {"profile": "small", "typed_writes": True}})
T = "2014-05-08T20:00:00Z"
FETCH = {"name": "fetch", "arguments": {"source": "economic", "params": {"op": "latest", "series": "GDP"}}}
FIELDS = {"scope": "growth", "reason": "GDP rose for three quarters, and orders rise.", "category": "macro_regime",
          "name": "GDP", "rule": "value > 17000", "by": "6 months", "confidence": 0.7}  # fmt: skip


def view(**fields):
    return {"name": "write_view", "arguments": FIELDS | fields}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return lake_of(tmp_path_factory.mktemp("planned") / "lake")


def decided(server, tmp_path, lake, *answers):
    """Return the decision of a turn with these answers, its View or None, and the requests to its model."""
    server.script = [(200, chunks({"content": json.dumps(each)}), 0) for each in answers]
    memory = Memory(tmp_path / "forge")
    place = f"openai:small@http://127.0.0.1:{server.server_address[1]}/v1"
    agent = Agent(memory, Tape(tmp_path / "tape.sqlite"), Routing({"agent": place}).model, lake, PLANNED)
    outcome = asyncio.run(agent.ask("Will GDP grow?", T))
    assert asyncio.run(agent.replay(outcome.decision)) == outcome
    path = KINDS["views"].path("V-001")
    written = parse(KINDS["views"], turn(memory).read_file(path)) if turn(memory).exists(path) else None
    memory.close()
    return outcome, written, server.asked


def forms(asked):
    """Return the name of each request's enforced call, with the schema of its arguments."""
    properties = [each["response_format"]["json_schema"]["schema"]["properties"] for each in asked]
    return [(each["name"]["const"], each["arguments"]) for each in properties]


def test_a_planned_turn_enforces_a_fetch_then_a_view(server, tmp_path, lake):
    outcome, written, asked = decided(server, tmp_path, lake, FETCH, view())
    assert outcome.end == "answered"
    assert outcome.answer.startswith("Written: /memory/views/V-001.md\n")
    assert outcome.answer.endswith("\nvalue > 17000: GDP rose for three quarters, and orders rise.")
    assert (written.scope, written.confidence, written.settles.rule) == ("growth", 0.7, "value > 17000")
    assert [(each.name, each.probability) for each in written.scenarios] == [("rule holds", 0.7), ("otherwise", 0.3)]
    assert (written.settles.params, str(written.settles.by)) == ({"series": "GDP"}, "2014-11-08")
    assert [name for name, _ in forms(asked)] == ["fetch", "write_view"]
    assert not any("tools" in each for each in asked)
    assert tokens(json.dumps(asked[1]["messages"])) <= 500


@pytest.mark.parametrize("call", [FETCH, view(name="TLT", rule="close < 101.5")], ids=["fetch", "view"])
def test_the_enforced_form_accepts_the_call_and_nothing_else(server, tmp_path, lake, call):
    *_, asked = decided(server, tmp_path, lake, FETCH, view())
    valid = jsonschema.Draft202012Validator(dict(forms(asked))[call["name"]]).is_valid
    assert valid(call["arguments"])
    assert not valid(call["arguments"] | {"status": "draft"})
    assert not valid(FIELDS | {"rule": "it rises"})
    assert not valid(FIELDS | {"name": "TLT"})


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"name": "PPI"}, "'PPI' has no value as of 2014-05-08"),
        ({"rule": "growth > 2"}, "macro_latest has no column 'growth'"),
        ({"confidence": 70}, "confidence: 70 is not a number from 0 to 1"),
        ({"rule": None}, "rule"),
    ],
)
def test_a_clumsy_view_is_corrected_once_with_the_exact_error(server, tmp_path, lake, fields, problem):
    outcome, written, asked = decided(server, tmp_path, lake, FETCH, view(**fields), view())
    assert (outcome.end, written.settles.rule) == ("answered", "value > 17000")
    error = asked[2]["messages"][-1]
    assert (error["role"], problem in error["content"]) == ("tool", True), error
    assert [name for name, _ in forms(asked)] == ["fetch", "write_view", "write_view"]


def test_a_view_that_stays_invalid_ends_the_plan_without_a_view(server, tmp_path, lake):
    outcome, written, asked = decided(server, tmp_path, lake, FETCH, view(name="M1"), view(name="PPI"))
    assert (written, len(asked)) == (None, 3)
    assert outcome.answer.startswith("Not written. line 1: settles: series: 'PPI' has no value")


def test_a_plan_of_the_settings_is_an_input_of_the_decision(server, tmp_path, lake):
    outcome, *_ = decided(server, tmp_path, lake, FETCH, view())
    tape = Tape(tmp_path / "tape.sqlite")
    assert tape.inputs(outcome.decision)["plan"] == ["fetch", "write_view"]
    later = replace(PLANNED, model=replace(PLANNED.model, profile="full"))
    memory = Memory(tmp_path / "forge")
    again = asyncio.run(Agent(memory, tape, Routing({}).model, lake, later).replay(outcome.decision))
    memory.close()
    assert again == outcome
