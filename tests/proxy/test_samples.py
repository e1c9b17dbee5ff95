"""One proxy for samples with different cut-offs: only a request's header determines its cut-off."""

import json
import subprocess
from pathlib import Path

import anyio
import pytest
import requests
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer
from mcp.shared._httpx_utils import create_mcp_http_client

from pitlake.cli import invoke
from pitlake.clock import instant
from pitlake.proxy.samples import AsOfHeader
from tests.proxy.worlds import environment, proxy_process, served

LATEST = "2024-02-20T16:00:00-05:00"
HEADER = "X-As-Of"
POLICY = """
server = "news"
reviewed = true
[tools.search]
items = "results[]"
published = "published"
fields = ["title"]
arguments = ["query"]
bind = { until = "{date}" }
"""
DAYS = range(10, 20)
LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("samples")


@pytest.fixture(scope="module")
def proxy(folder):
    tools = MCPServer("news")

    @tools.tool()
    def search(query: str, until: str = "") -> dict:
        return {"results": [{"title": f"day {day}", "published": f"2024-02-{day}T10:00:00Z"} for day in DAYS]}

    (folder / "news.toml").write_text(POLICY)
    options = ["--as-of", LATEST, "--as-of-header", HEADER, "--policy", "news.toml", "--tape", "run.jsonl"]
    with (
        served(tools.streamable_http_app(stateless_http=True)) as upstream,
        proxy_process(*options, upstream, folder=folder) as (address, _),
    ):
        yield address


async def sample(address, as_of, arguments):
    async with (
        create_mcp_http_client({HEADER: as_of}) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        return [(await client.call_tool("search", arguments)) for _ in range(3)]


def test_samples_with_different_cut_offs_are_answered_concurrently(proxy, folder):
    async def everyone():
        answers = {}

        async def ask(day):
            as_of = f"2024-02-{day}T16:00:00-05:00"
            answers[day] = [answer.structured_content for answer in await sample(proxy, as_of, {"query": "x"})]

        async with anyio.create_task_group() as group:
            for day in DAYS:
                group.start_soon(ask, day)
        return answers

    answers = anyio.run(everyone)
    assert sorted(answers) == [*DAYS]
    for day, (first, *others) in answers.items():
        assert [row["title"] for row in first["data"]] == [f"day {earlier}" for earlier in DAYS if earlier <= day]
        assert first["receipt"]["as_of"] == f"2024-02-{day}T21:00:00Z"
        assert others == [first, first]
    assert len({answer[0]["receipt"]["result_sha256"] for answer in answers.values()}) == len(DAYS)
    heads = [json.loads(tape.read_text().splitlines()[0])["as_of"] for tape in folder.glob("run-*.jsonl")]
    assert {f"2024-02-{day}T21:00:00Z" for day in DAYS} <= set(heads)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {HEADER: ""},
        {HEADER: "2024-02-15"},
        {HEADER: "2024-02-15T16:00:00"},
        {HEADER: "2024-02-20T16:00:01-05:00"},
        {HEADER: "2024-02-15T16:00:00Z, 2024-02-16T16:00:00Z"},
        {"X-As-Off": "2024-02-15T16:00:00Z"},
    ],
    ids=str,
)
def test_a_request_without_a_valid_cut_off_header_is_refused(proxy, headers):
    accept = {"Accept": "application/json, text/event-stream"}
    answer = requests.post(proxy, json=LISTING, headers=accept | headers, timeout=30)
    assert answer.status_code == 400
    assert "search" not in answer.text


def test_a_cut_off_header_sent_twice_is_refused():
    async def refused():
        sent = []

        async def send(message):
            sent.append(message)

        values = [(HEADER.lower().encode(), f"2024-02-1{day}T16:00:00Z".encode()) for day in (5, 6)]
        scope = {"type": "http", "method": "POST", "headers": values}
        await AsOfHeader(None, HEADER, instant(LATEST))(scope, None, send)
        return sent[0]["status"]

    assert anyio.run(refused) == 400


@pytest.mark.parametrize(
    "arguments",
    [{"query": f"as of {LATEST}"}, {"query": "x", "as_of": LATEST}, {"query": "x", HEADER: LATEST}, {"until": LATEST}],
    ids=str,
)
def test_no_argument_moves_the_cut_off(proxy, arguments):
    for answer in anyio.run(sample, proxy, "2024-02-12T16:00:00-05:00", arguments):
        assert "day 13" not in answer.model_dump_json()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [(["--as-of-header", HEADER], "only be used with --http"), (["--http", "--as-of-header", "A b"], "not the name")],
)
def test_bad_header_options_are_refused(options, complaint, capsys):
    assert invoke(["proxy", "--as-of", LATEST, "--policy", "alpaca", *options, "x"]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.long
def test_an_inspect_evaluation_gives_each_sample_its_own_cut_off(proxy, tmp_path):
    programs = environment(tmp_path / "inspect", "inspect-ai==0.3.285", "mcp<2")
    cut_offs = [f"{day}=2024-02-{day}T16:00:00-05:00" for day in (11, 14, 18)]
    line = [programs / "python", Path(__file__).with_name("inspect_samples.py"), proxy, HEADER, *cut_offs]
    titles = json.loads(subprocess.run(line, check=True, capture_output=True, text=True, timeout=600).stdout)
    assert titles == {str(day): [f"day {early}" for early in DAYS if early <= day] for day in (11, 14, 18)}
