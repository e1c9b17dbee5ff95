"""A conversation longer than the model's window, with both real clients: compacted at the share, answered correctly.

The server counts tokens like a provider and refuses requests above its window. Its answer needs every file.
"""

import asyncio
import json
import re
from contextlib import ExitStack, closing
from dataclasses import replace

import pytest

from forge.agent.agent import Agent
from forge.core.clock import Simulated
from forge.core.config import ContextSettings, from_mapping
from forge.core.tape import Tape
from forge.memory import Memory
from forge.model.routing import ROLES, Routing
from forge.model.usage import Window, recorded_window, total, usages
from pitlake import cli
from pitlake.errors import BadInput
from tests.forge.test_anthropic import events, text, use
from tests.forge.test_openai import chunks
from tests.messages_api import messages_api

T = "2014-05-29T12:29:59Z"
FILES, WINDOW, SHARE = 16, 30_000, 0.6
HEADS = [(number * 7919) % 1000 for number in range(FILES)]
TAIL = 424_242
FILLER = "What came in between does not matter here. " * 190
PLACE = "/session/note-{}.md"


RIGHT = f"the sum is {sum(HEADS)}, and the last line of note 3 says {TAIL}"


class Anthropic:
    """A model that writes and reads notes one by one, rereads a shortened note if needed, and adds up the figures."""

    name = "anthropic:claude-x"

    def __init__(self, window):
        self.window, self.counts = window, []

    def results(self, request):
        blocks = [block for message in request["messages"] for block in message["content"] if isinstance(block, dict)]
        result = [block["content"] for block in blocks if block["type"] == "tool_result"]
        return [item if isinstance(item, str) else "".join(part["text"] for part in item) for item in result]

    def refusal(self, tokens):
        error = {"type": "invalid_request_error", "message": f"prompt is too long: {tokens} tokens > {self.window}"}
        return json.dumps({"type": "error", "error": error})

    def calls(self, number, name, arguments, tokens):
        return events(use(json.dumps(arguments), name, f"t{number}"), stop="tool_use", used=self.used(tokens))

    def says(self, words, tokens):
        return events(text(words), used=self.used(tokens))

    def used(self, tokens):
        return {"input_tokens": tokens - 1_000, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 100}

    def __call__(self, request):
        tokens = len(json.dumps(request)) // 4
        if tokens > self.window:
            return 400, self.refusal(tokens), 0
        self.counts.append(tokens)
        results = self.results(request)
        number, done = divmod(len(results), 2)
        if number < FILES:
            place = PLACE.format(number)
            note = f"figure {number} is {HEADS[number]}\n{FILLER}"
            note += f"\nthe last line says {TAIL}" if number == 3 else ""
            arguments = {"path": place, "depth": "full"} if done else {"path": place, "content": note}
            return 200, self.calls(len(results), "read" if done else "write", arguments, tokens), 0
        seen = "\n".join(results)
        heads = {result[1]: int(result[2]) for result in re.finditer(r"figure (\d+) is (\d+)", seen)}
        last = re.search(r"the last line says (\d+)", seen)
        if last is None:
            arguments = {"path": PLACE.format(3), "depth": "full"}
            return 200, self.calls(len(results), "read", arguments, tokens), 0
        words = f"the sum is {sum(heads.values())}, and the last line of note 3 says {last[1]}"
        return 200, self.says(words, tokens), 0


class OpenAI(Anthropic):
    name = "openai:local"

    def results(self, request):
        return [message["content"] for message in request["messages"] if message["role"] == "tool"]

    def refusal(self, tokens):
        return json.dumps({"error": {"message": f"the request ({tokens}) exceeds the available context size"}})

    def calls(self, number, name, arguments, tokens):
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"tool_calls": [{"index": 0, "id": f"t{number}", "type": "function", "function": function}]}
        return chunks(call, finish="tool_calls", used=self.used(tokens))

    def says(self, words, tokens):
        return chunks({"content": words}, used=self.used(tokens))

    def used(self, tokens):
        details = {"cached_tokens": 900}
        return {"prompt_tokens": tokens, "total_tokens": tokens + 7, "prompt_tokens_details": details}


class Desk:
    """An agent whose model is a server on loopback."""

    def __init__(self, folder, server, provider, has_window=True, share=SHARE):
        context = {"compact_at": share, "windows": {provider.name: WINDOW} if has_window else {}}
        config = from_mapping({"context": context, "budgets": {"run": {"tokens": 10_000_000}}})
        server.script = self.model = provider(WINDOW)
        path = "/v1" if provider is OpenAI else ""
        address = f"{provider.name}@http://127.0.0.1:{server.server_address[1]}{path}"
        self.memory, self.tape = Memory(folder / "forge", clock=Simulated("window", T)), Tape(folder / "tape.sqlite")
        routing = Routing(dict.fromkeys(ROLES, address))
        self.agent = Agent(self.memory, self.tape, routing.model, folder / "none", config)
        self.agent = replace(self.agent, limits=replace(self.agent.limits, turns=90))

    def ask(self):
        self.lines = []
        return asyncio.run(self.agent.ask("Add up the notes.", T, on_progress=self.lines.append))

    def steps(self, decision, kind):
        return [step for step in self.tape.steps(decision) if (step.lane, step.kind) == ("agent", kind)]


@pytest.fixture(scope="module", params=[Anthropic, OpenAI])
def asked(request, tmp_path_factory):
    """A desk after the long conversation, and the decision."""
    with messages_api() as server:
        desk = Desk(tmp_path_factory.mktemp("asked"), server, request.param)
        with closing(desk.memory):
            yield desk, desk.ask()


@pytest.fixture(params=[Anthropic, OpenAI])
def make_desk(request, tmp_path, server):
    with ExitStack() as closed:

        def make(**chosen):
            desk = Desk(tmp_path, server, request.param, **chosen)
            closed.callback(desk.memory.close)
            return desk

        yield make


def test_a_conversation_is_compacted_at_the_configured_share_and_answered_correctly(asked):
    desk, decided = asked
    assert (decided.answer, decided.end) == (RIGHT, "answered")
    compactions = [json.loads(step.request) for step in desk.steps(decided.decision, "compaction")]
    assert len(compactions) > 1
    assert {limit for _, limit in compactions} == {WINDOW * SHARE}
    assert [expected for expected, limit in compactions if expected < limit] == []
    assert WINDOW * SHARE - 6_000 < max(desk.model.counts) < WINDOW * SHARE + 3_000
    assert not any('"too_long"' in step.answer for step in desk.steps(decided.decision, "model"))
    assert len([line for line in desk.lines if line.startswith("compaction: about ")]) == len(compactions)


def test_a_replay_compacts_as_recorded_regardless_of_current_settings(asked):
    desk, decided = asked
    for context in (desk.agent.config.context, ContextSettings(compact_at=0.3), ContextSettings()):
        later = replace(desk.agent, config=replace(desk.agent.config, context=context))
        assert asyncio.run(later.replay(decided.decision)) == decided


def test_each_request_is_metered_as_the_provider_counts_it(asked):
    desk, decided = asked
    used = usages(desk.tape, decided.decision)
    assert [request.input for request in used] == desk.model.counts
    assert {(request.cached, request.output, request.window) for request in used} == {(900, 7, WINDOW)}
    count, most = len(used), max(desk.model.counts)
    assert total(used) == (
        f"{count} requests: {sum(desk.model.counts):,} tokens in ({900 * count:,} cached), {7 * count:,} out, "
        f"at most {most / WINDOW:.0%} of a window"
    )
    assert len([line for line in desk.lines if " tokens in (900 cached), 7 out, " in line]) == count
    assert decided.requests == used


def test_with_an_unknown_window_a_refused_request_is_shortened_and_sent_again(make_desk):
    desk = make_desk(has_window=False)
    decided = desk.ask()
    assert (decided.answer, decided.end) == (RIGHT, "answered")
    assert desk.steps(decided.decision, "compaction") == []
    assert any('"too_long"' in step.answer for step in desk.steps(decided.decision, "model"))
    assert asyncio.run(desk.agent.replay(decided.decision)) == decided


def test_a_tape_recorded_without_a_window_replays_identically(make_desk, monkeypatch):
    with monkeypatch.context() as before:
        before.setattr("forge.model.taped.recorded_window", lambda *_: Window())
        decided = make_desk().ask()
    assert decided.answer == RIGHT
    assert asyncio.run(make_desk(share=0.1).agent.replay(decided.decision)) == decided


def test_ask_prints_tokens_per_request_and_in_total(server, tmp_path, monkeypatch, capsys):
    used = {"input_tokens": 100, "cache_read_input_tokens": 1_900}
    server.script = [(200, events(text("It slows."), used=used), 0)]
    address = f"anthropic:claude-x@http://127.0.0.1:{server.server_address[1]}"
    settings = f'[models]\nagent = "{address}"\n[context.windows]\n"anthropic:claude-x" = 10000\n'
    (tmp_path / "forge.toml").write_text(settings)
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    monkeypatch.setenv("PITLAKE_LAKE", str(tmp_path / "none"))
    assert cli.invoke(["forge", "ask", "What of growth?"]) == 0
    out, err = capsys.readouterr()
    assert out == "It slows.\n"
    assert "  2,000 tokens in (1,900 cached), 7 out, 20% of the window\n" in err
    assert "1 request: 2,000 tokens in (1,900 cached), 7 out, at most 20% of a window\n" in err
    decision = re.search(r"decision (D-\w+)", err)[1]
    assert cli.invoke(["forge", "replay", decision, "--format", "json"]) == 0
    out, err = capsys.readouterr()
    (request,) = json.loads(out)["requests"]
    assert request == {
        "lane": "agent", "step": 1, "model": "anthropic:claude-x",
        "input": 2_000, "cached": 1_900, "output": 7, "window": 10_000,
    }  # fmt: skip
    assert "0 differences" in err


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"compact_at": 0}, "context.compact_at: is 0; it should be greater than 0"),
        ({"compact_at": True}, "context.compact_at: is True; it should be a valid number"),
        ({"two\nlines": 1}, r"context.'two\nlines': is not a known key"),
        ({"compact_at": 1.2}, "compact_at: is 1.2; it should be less than or equal to 1"),
        ({"windows": {"openai:local": 0}}, "windows.openai:local: is 0; it should be greater than or equal to 1"),
        ({"windows": {"openai:local": "8k"}}, "windows.openai:local: is '8k'; it should be a valid integer"),
    ],
)
def test_an_invalid_context_setting_is_refused(settings, reason):
    with pytest.raises(BadInput, match=re.escape(reason)):
        from_mapping({"context": settings})


def test_a_windows_size_comes_from_the_settings_else_from_the_list(tmp_path):
    lane = Tape(tmp_path / "tape.sqlite").lane
    own = ContextSettings(windows={"openai:gpt-5.1": 8_000})
    assert recorded_window(lane("D-1"), "openai:gpt-5.1", own) == Window(8_000, 0.7)
    assert recorded_window(lane("D-2"), "anthropic:claude-haiku-4-5", own) == Window(200_000, 0.7)
    assert recorded_window(lane("D-3"), "openai:local", own) == Window(None, 0.7)
    assert recorded_window(lane("D-1"), "openai:gpt-5.1", ContextSettings()) == Window(8_000, 0.7)
