"""Provider prompt caching: the marked prefix is the same in all real requests of a session."""

import asyncio
import json

from forge.agent.agent import Agent
from forge.core.clock import Simulated
from forge.core.tape import Tape
from forge.memory import Memory
from forge.model.routing import ROLES, Routing
from forge.records import render
from tests.forge.test_anthropic import events, text, use
from tests.forge.world import NEW_VIEW

T = ("2014-05-29T12:00:00Z", "2014-05-29T12:20:00Z", "2014-05-29T12:40:00Z")


def ask_thrice(server, tmp_path):
    """Ask three questions in one session; return the tape and the requests. Each turn writes a View, then answers."""

    def answer(request):
        if isinstance(request["messages"][-1]["content"], list) and len(request["messages"]) > 1:
            return 200, events(text("It slows.")), 0
        arguments = {"path": "/memory/views/new.md", "content": render(NEW_VIEW)}
        return 200, events(use(json.dumps(arguments), "write"), stop="tool_use"), 0

    server.script = answer
    address = f"anthropic:claude-x@http://127.0.0.1:{server.server_address[1]}"
    memory, tape = Memory(tmp_path / "forge", clock=Simulated("cache", T[0])), Tape(tmp_path / "tape.sqlite")
    agent = Agent(memory, tape, Routing(dict.fromkeys(ROLES, address)).model, tmp_path / "none")
    for at in T:
        memory.journal.clock.move(at)
        decided = asyncio.run(agent.ask("What of growth?", at))
        assert decided.end == "answered"
    memory.close()
    assert decided.receipt.session
    return tape, server.asked


def marked_prefix(request):
    """Return the bytes up to the breakpoint in the system prompt. The tools come first, as providers read them."""
    (last,) = (place for place, block in enumerate(request["system"]) if "cache_control" in block)
    return json.dumps([request["tools"], request["system"][: last + 1]]).encode()


def test_the_cacheable_prefix_is_identical_in_every_request_of_a_session(server, tmp_path):
    tape, question = ask_thrice(server, tmp_path)
    assert len(question) == 2 * len(T)
    assert len({marked_prefix(request) for request in question}) == 1
    assert len(marked_prefix(question[0])) > 10_000
    whole = ["".join(block["text"] for block in request["system"]) for request in question]
    assert len(set(whole)) == len(T)
    recorded = [tape.contents(name)["agent system"] for name in tape.decisions()]
    assert [prompt.strip() for prompt in whole[::2]] == [prompt.strip() for prompt in recorded]


def test_breakpoints_follow_the_tools_the_stable_prompt_and_the_newest_message(server, tmp_path):
    mark = {"type": "ephemeral", "ttl": "5m"}
    _, question = ask_thrice(server, tmp_path)
    for request in question:
        assert [tool.get("cache_control") for tool in request["tools"]] == [None] * 7 + [mark]
        assert [block.get("cache_control") for block in request["system"]] == [mark, None]
        assert request["cache_control"] == mark
        assert request["system"][1]["text"].lstrip().startswith("PROCESS KNOWLEDGE")
        assert "2014" not in request["system"][0]["text"].split("A View, for write")[0]
    for first, second in zip(question[::2], question[1::2], strict=True):
        assert second["messages"][0] == first["messages"][0]
        assert second["system"] == first["system"]


def test_a_prefix_that_changes_with_the_instant_is_found(server, tmp_path, monkeypatch):
    from forge.agent import agent

    sound = agent.system_prompt
    monkeypatch.setattr(agent, "system_prompt", lambda fs, *more: f"AS OF {fs.remembered.as_of}\n{sound(fs, *more)}")
    _, question = ask_thrice(server, tmp_path)
    assert len({marked_prefix(request) for request in question}) == len(T)
