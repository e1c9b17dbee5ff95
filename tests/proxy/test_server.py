"""The proxy over the protocol: what a model sees of a tool, and how a run is recorded and replayed."""

import json
import os

import anyio
import psutil
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

import pitlake.proxy.link
from pitlake.cli import invoke
from pitlake.clock import instant
from pitlake.errors import BadInput
from pitlake.proxy.link import secrets_of
from pitlake.proxy.policy import parse
from pitlake.proxy.server import BROKEN, Proxy
from pitlake.proxy.tape import Tape
from tests.proxy.worlds import AS_OF, ask, hostile, proxied, replayed, served

POLICY = """
server = "web"
reviewed = true
[tools.search]
items = "results[]"
published = "published"
timezone = "UTC"
fields = ["title", "url"]
key = "url"
arguments = ["query", "limit"]
bind = { end_date = "{date}" }
pages = { argument = "token", next = "next" }
"""


SCHEMA = {
    "type": "object",
    "properties": {name: {} for name in ("query", "limit", "end_date", "token")},
    "required": ["query"],
}


class World:
    """A search server whose answers a test can change."""

    def __init__(self):
        self.calls, self.results, self.next, self.fails = [], [], None, False
        self.results = [{"title": "old", "url": "u1", "published": "2024-02-14T10:00:00Z"}]
        self.server = MCPServer("inner")

        @self.server.tool()
        def search(query: str, end_date: str = "", limit: int = 5, token: str = "") -> dict:
            """Search the web."""
            self.calls.append({"query": query, "end_date": end_date, "token": token})
            if self.fails:
                raise ValueError("FUTURE: nothing before tomorrow")
            return {"results": self.results, "next": self.next, "total": 12345}

        @self.server.tool()
        def delete_everything() -> str:
            """Delete everything."""
            return "FUTURE"

        @self.server.resource("news://today")
        def today() -> str:
            """Today's news."""
            return "FUTURE"

        @self.server.prompt()
        def brief() -> str:
            """Brief."""
            return "FUTURE"


@pytest.fixture
def world():
    return World()


@pytest.fixture
def tape_file(tmp_path):
    return tmp_path / "run.jsonl"


def talk(world, tape_file, *calls, policy=POLICY):
    """Return the answers to calls, as JSON or as the text of an error."""

    async def conversation():
        async with proxied(world.server, parse(policy), tape_file) as (client, reader):
            return [envelope_of(await ask(client, reader, "search", arguments)) for arguments in calls]

    return anyio.run(conversation)


def envelope_of(answer):
    assert answer is not None
    if answer.is_error:
        return answer.content[0].text
    assert json.loads(answer.content[0].text) == answer.structured_content
    return answer.structured_content


def test_a_model_sees_only_the_policys_tools_without_their_time_arguments(world, tape_file):
    async def listed():
        async with proxied(world.server, parse(POLICY), tape_file) as (client, _):
            return (await client.list_tools()).tools

    (tool,) = anyio.run(listed)
    assert (tool.name, tool.description) == ("search", "Search the web.")
    assert sorted(tool.input_schema["properties"]) == ["cursor", "limit", "query"]
    assert tool.input_schema["required"] == ["query"]
    assert tool.input_schema["additionalProperties"] is False


def test_the_cut_off_is_set_for_every_call(world, tape_file):
    talk(world, tape_file, {"query": "oil"})
    assert world.calls == [{"query": "oil", "end_date": "2024-02-15", "token": ""}]


@pytest.mark.parametrize("arguments", [{"end_date": "2026-01-01"}, {"End_Date": "x"}, {"token": "x"}, {"pit": "x"}])
def test_a_call_cannot_override_the_cut_off(world, tape_file, arguments):
    (complaint,) = talk(world, tape_file, {"query": "oil"} | arguments)
    assert "takes no such argument" in complaint
    assert world.calls == []


@pytest.mark.parametrize("arguments", [{}, {"query": 7}, {"query": "x", "limit": "many"}, {"query": {"end": "x"}}])
def test_wrong_arguments_are_refused_without_calling_the_server(world, tape_file, arguments):
    (complaint,) = talk(world, tape_file, arguments)
    assert complaint
    assert world.calls == []


def test_other_tools_resources_and_prompts_are_refused(world, tape_file):
    async def tried():
        async with proxied(world.server, parse(POLICY), tape_file) as (client, _):
            answer = await client.call_tool("delete_everything", {})
            for ask_for in (client.list_resources, client.list_prompts, client.list_resource_templates):
                with pytest.raises(MCPError, match="not found"):
                    await ask_for()
            return answer

    answer = anyio.run(tried)
    assert answer.is_error
    assert answer.content[0].text == "tool: there is no tool 'delete_everything'; choose one of search"


def test_a_recorded_run_replays_the_same_answers_after_the_source_changed(world, tape_file):
    calls = [{"query": "oil"}, {"query": "gas"}]
    recorded = talk(world, tape_file, *calls)
    world.results = [{"title": "other", "url": "u2", "published": "2024-02-01"}]
    assert talk(world, tape_file, *calls) == recorded
    assert len(world.calls) == 2

    async def again():
        async with replayed(tape_file) as client:
            return [envelope_of(await client.call_tool("search", call)) for call in [*calls, {"query": "new"}]]

    *same, missing = anyio.run(again)
    assert same == recorded
    assert missing["gaps"][0]["reason"] == "the replayed tape does not contain this call"


def test_the_tape_records_each_call_with_its_times_and_answer(world, tape_file):
    talk(world, tape_file, {"query": "oil"})
    head, tools, entry = map(json.loads, tape_file.read_text().splitlines())
    assert (head["as_of"], head["server"]) == ("2024-02-15T21:00:00Z", "web")
    assert {tool["name"] for tool in tools["tools"]} == {"search", "delete_everything"}
    assert instant(entry["asked_at"]) <= instant(entry["fetched_at"])
    assert json.loads(entry["answer"]["content"][0]["text"])["total"] == 12345
    assert entry["counts"] == {"passed": 1}
    assert oct(tape_file.stat().st_mode)[-3:] == "600"


def test_changed_content_seen_later_is_dated_by_the_later_call(world, tape_file):
    talk(world, tape_file, {"query": "oil"})
    world.results = [{"title": "rewritten", "url": "u1", "published": "2024-02-14T10:00:00Z"}]
    (answer,) = talk(world, tape_file, {"query": "oil prices"})
    assert answer["data"] == []


def test_a_failed_call_is_a_gap_and_can_be_retried(world, tape_file):
    world.fails = True

    async def tried():
        async with proxied(world.server, parse(POLICY), tape_file) as (client, reader):
            failed = envelope_of(await ask(client, reader, "search", {"query": "oil"}))
            world.fails = False
            return failed, envelope_of(await ask(client, reader, "search", {"query": "oil"})), reader.texts

    failed, answered, texts = anyio.run(tried)
    assert (failed["gaps"][0]["type"], len(answered["data"])) == ("no_data", 1)
    assert "FUTURE" not in "".join(texts)

    async def again():
        async with replayed(tape_file) as client:
            return [envelope_of(await client.call_tool("search", {"query": "oil"})) for _ in range(3)]

    assert anyio.run(again) == [failed, answered, answered]


@pytest.mark.parametrize("strange", [10**5000, float("inf"), float("nan")], ids=["huge", "infinite", "not a number"])
def test_an_error_does_not_repeat_an_unexpected_answer(world, tape_file, strange, monkeypatch):
    async def answered(link, tool, arguments):
        return {"structuredContent": {"results": [world.results[0] | {"title": strange, "note": "FUTURE"}]}}

    monkeypatch.setattr(pitlake.proxy.link.Link, "call", answered)

    async def asked():
        async with proxied(world.server, parse(POLICY), tape_file) as (client, reader):
            await ask(client, reader, "search", {"query": "oil"})
            return "".join(reader.texts)

    texts = anyio.run(asked)
    assert "FUTURE" not in texts


def test_an_internal_error_of_the_proxy_reveals_nothing(world, tape_file, monkeypatch):
    def broken(*_):
        raise RuntimeError("FUTURE")

    monkeypatch.setattr(Proxy, "call", broken)
    assert talk(world, tape_file, {"query": "oil"}) == [BROKEN]


def test_a_server_gets_none_of_pitlakes_environment_variables(monkeypatch, tmp_path):
    monkeypatch.setenv("PITLAKE_AS_OF", "2024-02-15T21:00:00Z")
    monkeypatch.setenv("A_KEY_OF_THE_SERVER", "x")
    monkeypatch.setattr(pitlake.proxy.link, "_logged", lambda parameters, log: parameters)
    environment = pitlake.proxy.link.command_target(["server"], tmp_path / "log")().env
    assert "A_KEY_OF_THE_SERVER" in environment
    assert [name for name in environment if name.startswith("PITLAKE")] == []


def test_a_tape_survives_a_torn_line_and_refuses_another_run_or_damage(world, tape_file):
    talk(world, tape_file, {"query": "oil"})
    whole = tape_file.read_bytes()
    tape_file.write_bytes(whole + b'{"tool": "sea')
    talk(world, tape_file, {"query": "oil"})
    assert tape_file.read_bytes() == whole
    with pytest.raises(BadInput, match="a different cut-off or policy"):
        Tape.record(tape_file, parse(POLICY), instant("2024-02-15T16:00:01-05:00"))
    with pytest.raises(BadInput, match="a different cut-off or policy"):
        Tape.record(tape_file, parse(POLICY + "\n# changed"), instant(AS_OF))
    content = Tape.record(tape_file, parse(POLICY), instant(AS_OF))
    with pytest.raises(BadInput, match="another proxy"):
        Tape.record(tape_file, parse(POLICY), instant(AS_OF))
    content.close()
    tape_file.write_bytes(whole.replace(b'"arguments"', b'"argument"'))
    with pytest.raises(BadInput, match="damaged"):
        Tape.replay(tape_file)
    tape_file.write_text("not a tape\n")
    with pytest.raises(BadInput, match="not a tape"):
        Tape.replay(tape_file)


def test_a_line_that_the_disk_has_no_room_for_leaves_the_tape_unchanged(tape_file, monkeypatch):
    tape, write = Tape.record(tape_file, parse(POLICY), instant(AS_OF)), os.write
    before = tape_file.read_bytes()

    def fill(file, rest):
        if len(rest) < 9:
            raise OSError("the disk is full")
        return write(file, rest[:-8])

    monkeypatch.setattr(os, "write", fill)
    with pytest.raises(OSError, match="the disk is full"):
        tape.list_tools([{"name": "search"}])
    assert (tape_file.read_bytes(), tape.tools) == (before, None)
    tape.close()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("tools.search", "tools.serch"), "which the server does not have; did you mean search"),
        (("end_date =", "end_day ="), "names the argument 'end_day'.*did you mean end_date"),
        (('["query", "limit"]', '["limit"]'), "leaves out the argument 'query'"),
    ],
)
def test_a_policy_that_does_not_fit_the_server_is_refused_at_the_start(world, tape_file, change, complaint):
    with pytest.raises(BadInput, match=complaint):
        talk(world, tape_file, {"query": "oil"}, policy=POLICY.replace(*change))


def test_a_large_answer_does_not_hold_up_the_others(world, tape_file):
    world.results = [{"title": f"old {n}", "url": f"u{n}", "published": "Feb 14, 2024"} for n in range(5_000)]
    policy = parse(POLICY.replace('timezone = "UTC"', 'timezone = "UTC"\nformat = "%b %d, %Y"'))

    async def asked():
        tape = Tape.record(tape_file, policy, instant(AS_OF))
        answer = {"structuredContent": {"results": world.results}}
        waits = []

        async def tick():
            while True:
                start = anyio.current_time()
                await anyio.sleep(0.001)
                waits.append(anyio.current_time() - start)

        class Upstream:
            async def tools(self):
                return [{"name": "search", "title": None, "description": "", "schema": SCHEMA}]

            async def call(self, tool, arguments):
                return answer

        proxy = Proxy(tape, Upstream())
        await proxy.prepare()
        async with anyio.create_task_group() as group:
            group.start_soon(tick)
            await proxy.call("search", {"query": "oil"})
            group.cancel_scope.cancel()
        return len(waits)

    assert anyio.run(asked) >= 5


def test_an_answer_above_the_size_limit_is_a_gap_that_names_the_limit(world, tape_file, monkeypatch):
    monkeypatch.setattr(pitlake.proxy.link, "LONGEST_ANSWER", 10_000)
    world.results = [{"title": "x" * 20_000, "url": "u", "published": "2024-02-14T10:00:00Z"}]
    (answer,) = talk(world, tape_file, {"query": "oil"})
    assert answer["data"] == []
    assert "larger than 16 MiB" in answer["gaps"][0]["reason"]


def test_long_secrets_are_recognised_in_the_environment(tmp_path):
    environment = {"EXA_API_KEY": "abcdef123456", "HOME": "/root", "MY_TOKEN": "short"}
    assert secrets_of(environment) == {"abcdef123456": "EXA_API_KEY"}


def test_a_server_over_http_is_cut_off_too(world, tape_file):
    async def asked(address):
        async with proxied(address, parse(POLICY), tape_file) as (client, reader):
            return envelope_of(await ask(client, reader, "search", {"query": "oil"}))

    with served(world.server.streamable_http_app(stateless_http=True)) as address:
        answer = anyio.run(asked, address)
    assert [row["title"] for row in answer["data"]] == ["old"]


def test_a_server_that_dies_is_started_again(tmp_path, monkeypatch):
    monkeypatch.setattr(pitlake.proxy.link, "AGAIN_SECONDS", 0.0)
    tape_file = tmp_path / "run.jsonl"
    filing = {"identifier": "AAPL"}

    async def killed():
        async with proxied(hostile("sec-edgar", 5), "sec-edgar", tape_file) as (client, reader):
            await ask(client, reader, "get_recent_filings", filing)
            for process in psutil.process_iter(["ppid", "cmdline"]):  # without zombies, whose command is unknown
                if process.info["ppid"] == os.getpid() and "hostile_server" in " ".join(process.info["cmdline"] or ()):
                    process.kill()
            await anyio.sleep(0.2)
            lost = envelope_of(await ask(client, reader, "get_recent_filings", {"identifier": "B"}))
            await anyio.sleep(0.3)
            return lost, envelope_of(await ask(client, reader, "get_recent_filings", {"identifier": "C"}))

    lost, after = anyio.run(killed)
    assert [gap["type"] for gap in lost["gaps"]] == ["no_data"]
    assert after["data"] != []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "--as-of: missing"),
        (["--as-of", AS_OF], "--policy: missing"),
        (["--as-of", AS_OF, "--policy", "alpaca"], "SERVER: missing"),
        (["--as-of", "2024-02-15", "--policy", "alpaca", "x"], "a date without time and offset"),
        (["--as-of", "2099-01-01T00:00:00Z", "--policy", "alpaca", "x"], "is in the future"),
        (["--as-of", AS_OF, "--policy", "alpacca", "x"], "did you mean alpaca"),
        (["--as-of", AS_OF, "--policy", "alpaca", "--", "no-such-command-here"], "can't be started"),
        (["--as-of", AS_OF, "--policy", "alpaca", "--", "true"], "did not answer as an MCP server"),
        (["--replay", "no-such-file"], "--replay: no-such-file can't be read"),
        (["--replay", "x", "--as-of", AS_OF], "--as-of: can't be combined with --replay"),
        (["--replay", "x", "--header", "Authorization", "X_AUTH"], "--header: can't be combined with --replay"),
        (["--learn", "x.toml", "--http", "--", "true"], "--http: can't be combined with --learn"),
        (["--as-of", AS_OF, "--policy", "alpaca", "--http", "--host", "0.0.0.0", "x"], "--allow-host"),
        (["--as-of", AS_OF, "--policy", "alpaca", "--header", "A b", "HOME", "http://x"], "not the name of a header"),
        (["--as-of", AS_OF, "--policy", "alpaca", "--header", "A", "NOT_SET", "http://x"], "'NOT_SET' is not set"),
        (["--as-of", AS_OF, "--policy", "alpaca", "--header", "A", "Bearer x", "http://x"], "is not a variable"),
        (
            ["--as-of", AS_OF, "--policy", "alpaca", "--header", "A", "HOME", "true"],
            "can only be used with a server at a URL",
        ),
        (["--learn", "x.toml", "--call", "search", "oil", "--", "true"], "is not a JSON object"),
    ],
)
def test_bad_options_are_refused_in_one_line(arguments, complaint, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert invoke(["proxy", *arguments]) == 2
    output = capsys.readouterr()
    assert complaint in output.err
    assert (output.err.count("\n"), output.out) == (1, "")
    assert [*tmp_path.rglob("*.jsonl")] == [] or arguments[-2] == "--"  # only a server that fails leaves a tape behind


def test_the_ready_policies_are_listed(capsys):
    assert invoke(["proxy", "--policies"]) == 0
    assert "brave-search: brave_news_search" in capsys.readouterr().out
