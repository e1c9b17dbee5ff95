"""docs/sealed.md: its commands and its Python run, and the protocol's own client can query its server."""

import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

from tests.cli.conftest import ROOT
from tests.every import every
from tests.house.test_docs import blocks

PAGE = ROOT / "docs/sealed.md"
SHOWN = {"sh": [["Ada", "13.0"]], "python": [["[(2,)]"], ["[('QBG', 0.41)]"]]}
ENV = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
HARM = [
    "FROM read_csv('/etc/passwd')", "FROM glob('/*')", "COPY orders TO 'orders.csv'", "ATTACH 'x.db'", "INSTALL httpfs",
    "FROM read_csv('http://127.0.0.1:9/x.csv')", "SELECT getenv('HOME')", "FROM nothing",
]  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The folder in which the page's commands have run."""
    place, typed = tmp_path_factory.mktemp("sealed"), {"sh": [], "python": []}
    for block in blocks(PAGE):
        if block.language in typed and block.runs:
            command = ["sh", "-e"] if block.language == "sh" else [sys.executable, "-"]
            message = subprocess.run(
                command, input=block.text, cwd=place, env=ENV, capture_output=True, text=True, check=True
            )
            typed[block.language].append(message.stdout)
    for language, texts in typed.items():
        for message, words in zip(texts, SHOWN[language], strict=True):
            assert every(word in message for word in words), message
    return place


def talk(place, *calls):
    (text,) = [block.text for block in blocks(PAGE) if block.language == "json"]
    server = json.loads(text)["mcpServers"]["tables"]

    async def conversation():
        parameters = StdioServerParameters(command=server["command"], args=server["args"], env=ENV, cwd=place)
        async with Client(parameters) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(conversation)


def test_an_agent_can_query_the_server_on_the_page_and_change_nothing(place):
    before = {path: path.read_bytes() for path in place.iterdir()}
    spent = "SELECT sum(amount) AS spent FROM orders"
    listing, question, cut, unknown, deleted, again, *harm = talk(
        place,
        ("tables", {}),
        ("query", {"sql": spent}),
        ("query", {"sql": "FROM range(5000)", "max_rows": 2}),
        ("query", {"sql": spent, "table": "orders"}),
        ("query", {"sql": "WITH gone AS (DELETE FROM orders RETURNING *) SELECT count(*) FROM gone"}),
        ("query", {"sql": spent}),
        *(("query", {"sql": sql}) for sql in HARM),
    )
    tables = listing.structured_content["tables"]
    assert tables == {
        "orders": {"id": "BIGINT", "customer": "BIGINT", "amount": "DOUBLE"},
        "users": {"id": "BIGINT", "name": "VARCHAR"},
    }
    assert question.structured_content == {"columns": ["spent"], "rows": [[25.0]], "truncated": False}
    assert (cut.structured_content["rows"], cut.structured_content["truncated"]) == ([[0], [1]], True)
    assert unknown.content[0].text == "table: query takes no such argument; it takes sql, max_rows"
    assert not deleted.is_error
    assert again.structured_content == question.structured_content
    assert every(answer.is_error for answer in harm)
    assert "this session has orders, users, and nothing else" in harm[-1].content[0].text
    assert {path: path.read_bytes() for path in place.iterdir()} == before
