"""Typed writes: tools with record schemas that a provider enforces, read by the same reader as `write`."""

import asyncio
import json
from dataclasses import replace

import jsonschema
import pytest

from forge.agent.agent import Agent
from forge.agent.tools.fetch import Shelf
from forge.agent.tools.toolset import agent_tools
from forge.agent.tools.typed import typed_writes
from forge.core.config import from_mapping
from forge.core.tape import Tape
from forge.model.routing import Routing
from forge.records import KINDS, content_hash, parse, render
from forge.records.examples import EXAMPLES
from tests.forge.test_anthropic import events, text, use
from tests.forge.test_openai import called, chunks
from tests.forge.world import NEW_VIEW, desk, turn

TYPED = from_mapping({"model": {"typed_writes": True}})
VIEW = {
    "id": "new", "scope": "us_growth", "category": "macro_regime", "confidence": 0.6, "status": "active",
    "horizon": "3m", "links": [], "invalidation": [], "body": "## SUMMARY\n\nGrowth slows.",
    "scenarios": [{"name": "soft", "probability": 0.7, "when": "", "description": ""},
                  {"name": "hard", "probability": 0.3, "when": "", "description": ""}],
    "settles": {"query": "entity_latest_price", "params": [{"name": "ticker", "value": "QBG"}],
                "rule": "close < 2.0", "by": "2036-09-01"},
}  # fmt: skip


def tools(memory):
    return {tool.spec.name: tool for tool in typed_writes(turn(memory))}


@pytest.mark.parametrize("kind", EXAMPLES)
def test_each_typed_tool_accepts_its_example_and_writes_the_same_record(memory, kind):
    desk(memory)
    folder = f"{KINDS[kind].folder}."
    (tool,) = [tool for tool in tools(memory).values() if tool.spec.description.split()[2] == folder]
    whole = json.dumps(
        vars(EXAMPLES[kind]), default=lambda part: vars(part) if hasattr(part, "__dict__") else str(part)
    )
    fields = filled(tool.spec.schema, json.loads(whole))
    jsonschema.Draft202012Validator(tool.spec.schema).validate(fields)
    path = asyncio.run(tool.execute("1", **fields)).removeprefix("Written: ")
    record = parse(KINDS[kind], turn(memory).read_file(path))
    assert content_hash(replace(record, id="new")) == content_hash(EXAMPLES[kind])


def filled(schema, value):
    """Return a record's arguments as a provider's grammar gives them: every property, in the form of the schema."""
    if "anyOf" in schema and {"type": "null"} in schema["anyOf"]:
        return None if value is None else filled(schema["anyOf"][0], value)
    if schema.get("type") == "array" and isinstance(value, dict):
        return [{"name": name, "value": item} for name, item in value.items()]
    if schema.get("type") == "array":
        return [filled(schema["items"], item) for item in value or ()]
    if schema.get("type") == "object":
        return {name: filled(part, value[name]) for name, part in schema["properties"].items()}
    return value


def test_a_typed_write_changes_a_record_by_id_and_reports_faults_like_write(memory):
    desk(memory)
    answer = asyncio.run(tools(memory)["write_view"].execute("1", **VIEW | {"id": "V-001", "confidence": 0.7}))
    assert answer == "Written: /memory/views/V-001.md"
    answer = asyncio.run(tools(memory)["write_view"].execute("2", **VIEW | {"confidence": 1.4}))
    assert answer.startswith("Not written. line 1: confidence: 1.4 is not from 0 to 1; write for example confidence: ")
    assert "'id'" not in answer
    assert "is not a plain path" in asyncio.run(tools(memory)["write_view"].execute("3", **VIEW | {"id": "../x"}))


def test_every_typed_schema_can_be_enforced_by_providers(memory):
    for tool in typed_writes(turn(memory)):
        for part in objects(tool.spec.schema):
            assert part["additionalProperties"] is False
            assert part["required"] == [*part["properties"]]
        assert "$ref" not in json.dumps(tool.spec.schema)


def objects(part):
    if isinstance(part, dict):
        if part.get("type") == "object":
            yield part
        for inner in part.values():
            yield from objects(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from objects(inner)


def test_typed_tools_are_added_after_the_unchanged_plain_tools(memory):
    fs = turn(memory)
    whole, plain = (
        agent_tools(fs, None, {}, None, None, Shelf(fs.remembered), (), ("full", typed)) for typed in (True, False)
    )
    assert [*whole][: len(plain)] == [*plain]
    assert [*whole][len(plain) :] == [
        "write_view", "write_expression", "write_observation", "write_linkage", "write_process_knowledge",
        "write_counterfactual",
    ]  # fmt: skip


ANSWERS = {
    "anthropic": lambda arguments: [
        events(use(arguments, "write_view"), stop="tool_use"), events(text("Growth slows."))],
    "openai": lambda arguments: [
        chunks(called(0, name="write_view", arguments=arguments), finish="tool_calls"),
        chunks({"content": "Growth slows."})],
}  # fmt: skip


@pytest.mark.parametrize("provider", ANSWERS)
def test_a_typed_call_of_a_provider_writes_a_view_and_replays(memory, server, tmp_path, provider):
    server.script = [(200, body, 0) for body in ANSWERS[provider](json.dumps(VIEW))]
    place = f"http://127.0.0.1:{server.server_address[1]}" + ("/v1" if provider == "openai" else "")
    name = "openai:gpt-4o" if provider == "openai" else "anthropic:claude-opus-4-8"
    agent = Agent(memory, Tape(tmp_path / "tape.sqlite"), Routing({"agent": f"{name}@{place}"}).model, None, TYPED)
    decided = asyncio.run(agent.ask("What of growth?"))
    assert (decided.end, decided.answer) == ("answered", "Growth slows.")
    view = parse(KINDS["views"], turn(memory).read_file("/memory/views/V-001.md"))
    assert content_hash(replace(view, id="new")) == content_hash(NEW_VIEW)
    sent = server.asked[0]["tools"]
    typed = [each.get("function", each) for each in sent if each.get("function", each)["name"].startswith("write_")]
    assert len(typed) == len(EXAMPLES)
    assert [each["name"] for each in typed if not each["strict"]] == []
    assert asyncio.run(agent.replay(decided.decision)) == decided


def test_write_accepts_the_json_of_the_typed_schema(memory):
    fs = desk(memory)
    path = fs.write_file("/memory/views/new.md", json.dumps(VIEW), call_id="json").path
    assert render(parse(KINDS["views"], fs.read_file(path))).split("\n")[2:5] == render(NEW_VIEW).split("\n")[2:5]
