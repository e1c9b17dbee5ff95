"""The proxy over HTTP: the requests that it accepts, and a server behind it that needs a secret header."""

import json

import anyio
import pytest
import requests
from mcp import Client
from mcp.server.mcpserver import MCPServer
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

from pitlake.cli import invoke
from tests.proxy.worlds import AS_OF, Reader, ask, proxy_process, served

SECRET = "planted-f00dfeed"
POLICY = """
server = "web"
reviewed = true
[tools.search]
items = "results[]"
published = "published"
fields = ["title"]
key = "title"
arguments = ["query"]
bind = { end_date = "{date}" }
"""
ASKING = {"Accept": "application/json, text/event-stream"}
LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


class Keyed:
    """A search server that answers only requests with its key, and repeats the key in every answer."""

    def __init__(self):
        self.requests = []
        tools = MCPServer("inner")

        @tools.tool(description=f"Search with {SECRET}.")
        def search(query: str, end_date: str = "") -> dict:
            if query == "fail":
                raise ValueError(f"Bearer {SECRET}")
            titles = (f"{query} {SECRET}", f"Bearer {SECRET}")
            return {"results": [{"title": title, "published": "2024-02-14T10:00:00Z"} for title in titles]}

        self._app = tools.streamable_http_app(stateless_http=True)

    async def __call__(self, scope, receive, send):
        app = self._app
        if scope["type"] == "http":
            self.requests.append(Headers(scope=scope).get("authorization"))
            if self.requests[-1] != f"Bearer {SECRET}":
                app = PlainTextResponse(f"{self.requests[-1]} is not {SECRET}", 401)
        await app(scope, receive, send)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "web.toml").write_text(POLICY)
    return tmp_path


def line(address):
    return [
        "--as-of", AS_OF, "--policy", "web.toml", "--tape", "run.jsonl", "--header", "Authorization", "X_AUTH", address,
    ]  # fmt: skip


def conversation(address, *queries):
    """Return everything that a client read in some searches, and the titles of each answer."""
    reader = Reader()

    async def talk():
        async with Client(address, logging_callback=reader.hear, message_handler=reader.hear) as client:
            reader.add([tool.model_dump(mode="json") for tool in (await client.list_tools()).tools])
            return [await ask(client, reader, "search", {"query": query}) for query in queries]

    answers = anyio.run(talk)
    return "".join(reader.texts), [[row["title"] for row in answer.structured_content["data"]] for answer in answers]


def test_a_header_is_sent_and_its_value_is_nowhere_else(place):
    with (
        served(Keyed()) as upstream,
        proxy_process(*line(upstream), folder=place, X_AUTH=f"Bearer {SECRET}") as (at, message),
    ):
        read, titles = conversation(at, "oil", "fail")
    assert titles == [["oil [redacted X_AUTH]", "[redacted X_AUTH]"], []]
    for text in (read, (place / "run.jsonl").read_text(), message.read_text()):
        assert SECRET not in text
    assert "listening at http://127.0.0.1:" in message.read_text()
    with proxy_process("--replay", "run.jsonl", folder=place) as (at, _):
        assert conversation(at, "oil", "fail") == (read, titles)


def test_a_rejected_header_is_reported_in_one_line_without_its_value(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    monkeypatch.setenv("X_AUTH", "Bearer wrong-f00d")
    with served(Keyed()) as upstream:
        assert invoke(["proxy", *line(upstream)]) == 2
    output = capsys.readouterr()
    assert (output.out, output.err.count("\n")) == ("", 1)
    assert "--header" in output.err
    assert "f00d" not in output.err


def test_the_proxy_accepts_only_posts_to_its_own_host_with_the_token(place):
    token = "t" * 40
    with (
        served(Keyed()) as upstream,
        proxy_process(*line(upstream), folder=place, X_AUTH=f"Bearer {SECRET}", PITLAKE_MCP_TOKEN=token) as (at, _),
    ):
        post = {"json": LISTING, "timeout": 30, "headers": ASKING | {"Authorization": f"Bearer {token}"}}
        assert requests.post(at, **post).status_code == 200
        assert requests.get(at, timeout=30, headers=post["headers"]).status_code == 405
        for changed, status in (
            ({"Authorization": "Bearer no"}, 401),
            ({"Host": "example.org"}, 421),
            ({"Sec-Fetch-Site": "cross-site"}, 403),
            ({"Origin": "https://example.org"}, 403),
        ):
            assert requests.post(at, **post | {"headers": post["headers"] | changed}).status_code == status


def test_two_clients_at_once_have_their_own_answers_and_one_tape(place):
    with (
        served(Keyed()) as upstream,
        proxy_process(*line(upstream), folder=place, X_AUTH=f"Bearer {SECRET}") as (at, _),
    ):

        async def both():
            answers = {}

            async def one(number):
                async with Client(at) as client:
                    for step in range(5):
                        query = f"oil {number} {step}"
                        answers[query] = (await client.call_tool("search", {"query": query})).structured_content["data"]

            async with anyio.create_task_group() as group:
                for number in range(4):
                    group.start_soon(one, number)
            return answers

        answers = anyio.run(both)
    assert len(answers) == 20
    assert {query: rows[0]["title"].startswith(query + " ") for query, rows in answers.items()} == dict.fromkeys(
        answers, True
    )
    entries = [json.loads(text) for text in (place / "run.jsonl").read_text().splitlines()][2:]
    assert sorted(entry["arguments"]["query"] for entry in entries) == sorted(answers)
