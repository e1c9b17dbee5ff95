"""Memory and decisions over MCP: only what the settings name, as of an instant, and read-only."""

import asyncio
from contextlib import closing
from dataclasses import replace

import anyio
import pytest
from mcp import Client

from forge.core.config import from_mapping
from forge.desk import desk as found
from forge.model import Answer, Call
from forge.model.scripted import Scripted
from forge.records import render
from forge.shared import server
from pitlake.cli import invoke
from pitlake.clock import now
from pitlake.errors import BadInput
from tests.forge.world import NEW_VIEW, desk

ALL = {"mcp": {"tools": ["read", "search", "decisions"]}}
WRITE = Call("write", {"path": "/memory/views/new.md", "content": render(replace(NEW_VIEW, body="later"))}, "1")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A desk with a View, a later instant, and a decision after that instant that wrote a View."""
    root = tmp_path_factory.mktemp("shared")
    own = found(root / "forge")
    with closing(own.memory()) as memory:
        desk(memory)
        then = now()
        script = [Answer("", (WRITE,), "tools"), Answer("done")]
        agent = replace(own.agent(memory, root / "none"), models=lambda role: Scripted(script))
        decision = asyncio.run(agent.ask("What of growth?")).decision
    return own, then, decision


def names_and_results(place, at, settings, *calls):
    async def conversation(to):
        async with Client(to) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            return names, [await client.call_tool(name, arguments) for name, arguments in calls]

    own = replace(place[0], config=from_mapping(settings))
    with closing(own.memory()) as memory:
        names, results = anyio.run(conversation, server(own, memory, at))
    return names, [(result.is_error, result.content[0].text) for result in results]


def test_only_tools_named_in_the_settings_are_shared_over_mcp(place):
    assert names_and_results(place, now(), ALL)[0] == ["read", "search", "decisions"]
    names, ((wrong, text),) = names_and_results(
        place, now(), {"mcp": {"tools": ["decisions"]}}, ("read", {"path": "/memory/views/"})
    )
    assert (names, wrong, "V-001" in text) == (["decisions"], True, False)
    with pytest.raises(BadInput, match="nothing is shared"):
        names_and_results(place, now(), {})
    for settings in ({"mcp": {"tools": ["write"]}}, {"mcp": {"tools": "read"}}):
        with pytest.raises(BadInput, match="mcp"):
            from_mapping(settings)


def test_records_and_decisions_after_the_as_of_are_not_shared(place):
    calls = (("read", {"path": "/memory/views/"}), ("search", {"query": "growth"}), ("decisions", {}))
    _, before = names_and_results(place, place[1], ALL, *calls)
    _, after = names_and_results(place, now(), ALL, *calls)
    assert not any(wrong for wrong, _ in (*before, *after))
    assert ["V-002" in text or place[2] in text for _, text in before] == [False, False, False]
    assert ["V-002" in text or place[2] in text for _, text in after] == [True, True, True]
    (refused,) = names_and_results(place, place[1], ALL, ("decisions", {"name": place[2]}))[1]
    (display,) = names_and_results(place, now(), ALL, ("decisions", {"name": place[2]}))[1]
    assert (refused[0], display[0], f"{place[2]} → V-002 (wrote)" in display[1]) == (True, False, True)


@pytest.mark.parametrize("path", ["/portfolio/state.md", "/session/", "/skills/", "/", "/memory/../portfolio/state.md"])
def test_book_sessions_and_skills_are_not_shared(place, path):
    for call in (("read", {"path": path, "depth": "full"}), ("search", {"query": "growth", "scope": path})):
        ((wrong, text),) = names_and_results(place, now(), ALL, call)[1]
        assert (wrong, "gross" in text) == (True, False)


def test_the_mcp_command_is_refused_without_tools_in_the_settings(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    assert invoke(("forge", "mcp")) == 2
    assert "mcp.tools: is empty, so nothing is shared" in capsys.readouterr().err
