"""The MCP server's resources and prompts, its plain errors for wrong arguments, and its token."""

import json
import re
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult
from pydantic import Field

from pitlake import clock, datasets
from pitlake.aliases import ALIASES
from pitlake.cli import main
from pitlake.errors import GONE, BadInput, QueryFailed
from pitlake.lake.lake import Lake
from pitlake.mcp.server import server
from pitlake.mcp.token import token
from pitlake.mcp.tools import strict_tool
from pitlake.session import connect
from tests.doors.conftest import AS_OF
from tests.doors.mcp_client import COMMAND, EVERY_TOOL, SETTINGS, ask, http, refusal, service, talk
from tests.every import every

INSPECTOR = Path(__file__).resolve().parents[2] / ".pitlake" / "inspector" / "node_modules" / ".bin" / "mcp-inspector"
FUTURE = "2999-01-01T00:00:00Z"
TOKEN = "t" * 40


def spoken_to(lake, do):
    async def conversation():
        async with Client(server(service(lake))) as client:
            try:
                return await do(client)
            except MCPError as refused:
                return refused

    return anyio.run(conversation)


def test_each_dataset_is_a_resource_equal_to_its_description(lake):
    listing = spoken_to(lake, Client.list_resources).resources
    assert [each.name for each in listing] == list(datasets.all_datasets())
    (news,) = (each.uri for each in listing if each.name == "news")
    (read,) = spoken_to(lake, lambda client: client.read_resource(news)).contents
    document = json.loads(read.text)
    assert document == ask(lake, "describe", name="news")
    assert document["datasets"][0]["holds"]["rows"] == 120


def test_reading_a_resource_of_a_missing_lake_gives_the_error_for_agents(tmp_path):
    reply = spoken_to(tmp_path / "none", lambda client: client.read_resource("pitlake://datasets/news"))
    assert str(reply) == GONE


PROMPTS = {"company_brief": {}, "before_earnings": {}, "check_a_claim": {"claim": "Gross margin fell."}}


def test_every_call_named_in_a_prompt_is_answered(lake):
    listing = spoken_to(lake, Client.list_prompts).prompts
    assert {each.name for each in listing} == {*PROMPTS}
    for name, more in PROMPTS.items():
        inputs = spoken_to(lake, lambda client, n=name, m=more: client.get_prompt(n, {"ticker": "qbg", **m}))
        text = inputs.messages[0].content.text
        assert f"as of {AS_OF}" in text
        calls = [(tool, json.loads(reply)) for tool, reply in re.findall(r"^\d+\. (\w+) (\{.*\})$", text, re.MULTILINE)]
        answers = talk(server(service(lake)), *calls)
        assert len(calls) > 2
        assert [answer.content[0].text for answer in answers if answer.is_error] == []
        assert any(answer.structured_content["data"] for answer in answers)


@pytest.mark.parametrize(
    ("arguments", "reply"),
    [
        ({}, "ticker: missing; A ticker, such as AAPL."),
        ({"ticker": "QBG", "day": "x"}, "day: company_brief takes no such argument; it takes ticker"),
        ({"ticker": " "}, "ticker: "),
    ],
)
def test_a_prompts_wrong_arguments_are_refused_by_name(lake, arguments, reply):
    refused = spoken_to(lake, lambda client: client.get_prompt("company_brief", arguments))
    assert str(refused).startswith(reply)


@pytest.mark.parametrize(
    ("tool", "arguments", "reply"),
    [
        ("query", {}, "sql: missing; One DuckDB SELECT."),
        ("query", {"sql": 7}, "sql: is not text; One DuckDB SELECT."),
        ("query", {"sql": "x", "max_rows": "many"}, "max_rows: is not a whole number; Rows of this page"),
        ("query", {"sql": "x", "params": 5}, "params: is not an object of values by name; Values by name"),
        ("query", {"sql": "x", "pitt": AS_OF}, "pitt: query takes no such argument; it takes sql, params, pit,"),
        ("search", {"query": "oil", "within": "dreams"}, "within: 'dreams' is not a valid value; give one of news,"),
    ],
)
def test_errors_about_arguments_name_the_field_and_the_next_step(lake, tool, arguments, reply):
    message = refusal(lake, tool, **arguments)
    assert message.startswith(reply)
    assert "validation error" not in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (0, "count: 0 is not a valid value; 1 to 100."),
        (101, "count: 101 is not a valid value; 1 to 100."),
        (1.5, "count: is not a whole number; 1 to 100."),
        ("many", "count: is not a whole number; 1 to 100."),
        ([1], "count: is not a whole number; 1 to 100."),
    ],
)
def test_a_number_out_of_range_is_not_called_another_type(count, message):
    def newest(count: Annotated[int, Field(description="1 to 100.", ge=1, le=100)] = 10) -> CallToolResult:
        """List the newest."""
        raise AssertionError(count)

    result = anyio.run(strict_tool(newest).run, {"count": count}, None)
    assert [result.is_error, result.content[0].text] == [True, message]


def test_common_aliases_name_datasets_and_shadow_no_dataset(lake):
    assert not ALIASES.keys() & datasets.all_datasets().keys()
    assert {*ALIASES.values()} <= datasets.all_datasets().keys()
    assert ask(lake, "describe", name="Stock prices")["datasets"][0]["name"] == "prices"
    assert ask(lake, "gaps", dataset="headlines") == ask(lake, "gaps", dataset="news")
    assert ask(lake, "gaps", dataset="headlines")["gaps"]
    for spoken, own in (("transcripts", "calls"), ("filings", "sections"), ("headlines", "news"), ("xbrl", "concepts")):
        query = {"query": "margin", "ticker": "QBG"}
        assert ask(lake, "search", within=spoken, **query) == ask(lake, "search", within=own, **query)
    with connect(AS_OF, lake=lake, datasets=["headlines"]) as session:
        assert session.datasets == ("news",)
        with pytest.raises(QueryFailed, match="headlines is called news here"):
            session.sql("FROM headlines")
        with pytest.raises(QueryFailed, match="articles reads news, benzinga_news: open the session with all of them"):
            session.sql("FROM articles")
    reply = refusal(lake, "run_query", name="filings")
    assert "report_latest" in reply
    assert "macro_curve" not in reply


def test_a_future_as_of_is_refused_in_python_mcp_and_the_command_line(lake, capsys):
    with pytest.raises(BadInput, match="as_of: is in the future"):
        connect(FUTURE, lake=lake)
    (reply,) = talk(server(service(lake, as_of=None)), ("query", {"sql": "SELECT 1 AS n", "pit": FUTURE}))
    assert reply.content[0].text.startswith("pit: is in the future")
    with pytest.raises(SystemExit, match="2"):
        main(["query", "SELECT 1", "--as-of", FUTURE, "--lake", str(lake)])
    assert "--as-of: is in the future" in capsys.readouterr().err


@pytest.mark.parametrize(("ours", "lake_s"), [(0, 0), (0, -1), (-1, 0), (1, -1), (-1, 1)])
def test_an_as_of_reached_by_either_clock_is_accepted(lake, monkeypatch, ours, lake_s):
    at = clock.instant(AS_OF)
    monkeypatch.setattr(clock, "now", lambda: at + timedelta(microseconds=ours))
    monkeypatch.setattr(Lake, "now", lambda _: at + timedelta(microseconds=lake_s))
    with connect(at, lake=lake, datasets=["news"]) as session:
        assert session.sql("SELECT 1").rows() == [(1,)]


def test_an_as_of_that_neither_clock_has_reached_is_refused(lake, monkeypatch):
    earlier = clock.instant(AS_OF) - timedelta(microseconds=1)
    monkeypatch.setattr(clock, "now", lambda: earlier)
    monkeypatch.setattr(Lake, "now", lambda _: earlier)
    with pytest.raises(BadInput, match="as_of: is in the future"):
        connect(AS_OF, lake=lake)


def over_http(address, headers):
    async def conversation():
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http_client,
            Client(streamable_http_client(address, http_client=http_client)) as client,
        ):
            return await client.call_tool("query", {"sql": "SELECT 1 AS n"})

    return anyio.run(conversation)


def test_a_server_with_a_token_answers_only_requests_with_the_token(lake, monkeypatch):
    monkeypatch.setenv("PITLAKE_MCP_TOKEN", TOKEN)
    with http(lake) as address:
        assert over_http(address, {"Authorization": f"Bearer {TOKEN}"}).structured_content["data"][0]["n"] == 1
        for inputs in (
            {},
            {"Authorization": f"Bearer {TOKEN}x"},
            {"Authorization": TOKEN},
            {"Authorization": "Bearer"},
        ):
            refused = httpx2.post(address, json={}, headers=inputs)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
            assert TOKEN not in refused.text


@pytest.mark.parametrize("reply", ["short", "x" * 40 + " y", "é" * 40])
def test_an_invalid_token_is_refused_without_being_shown(monkeypatch, reply):
    monkeypatch.setenv("PITLAKE_MCP_TOKEN", reply)
    with pytest.raises(BadInput, match="PITLAKE_MCP_TOKEN: not 32 or more") as refused:
        token()
    assert reply not in str(refused.value)


@pytest.mark.long
@pytest.mark.skipif(not INSPECTOR.exists() or not shutil.which("node"), reason="no Inspector here: make inspector")
@pytest.mark.parametrize(
    ("question", "result"),
    [
        (["tools/list"], [name for name, _ in EVERY_TOOL]),
        (["resources/list"], ["pitlake://datasets/news"]),
        (["prompts/get", "--prompt-name", "company_brief", "--prompt-args", "ticker=QBG"], ["report_latest"]),
        (["tools/call", "--tool-name", "query", "--tool-arg", "sql=SELECT 41+1 AS n"], ["42"]),
    ],
    ids=lambda value: value[0],
)
def test_the_mcp_inspector_reads_tools_resources_prompts_and_calls(lake, question, result):
    line = [INSPECTOR, "--cli", *COMMAND, "--as-of", AS_OF, "--lake", str(lake), "--method", *question]
    settings = [part for name, value in SETTINGS.items() for part in ("-e", f"{name}={value}")]
    done = subprocess.run([*line[:2], *settings, *line[2:]], capture_output=True, text=True, timeout=120, check=True)
    assert every(each in done.stdout for each in result), done.stdout[-500:]
