"""README.md is typed from the top in a fresh checkout and an empty home, block by block, as who comes new would."""

import json
import re
import shutil
import time
import urllib.request
from contextlib import contextmanager, suppress
from urllib.error import URLError

import anyio
import pytest
from mcp import Client, StdioServerParameters

from local_servers.server import free_port
from resources.graph.open import GraphSettings, graph_server
from sample.manifest import DEMO_QUESTION, DEMO_RESTATEMENT
from tests.cli.conftest import ROOT
from tests.every import every
from tests.house.newcomer import PATIENCE

TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)
SERVED, SUITE = "make ui", "make test"
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("newcomer")]


@pytest.mark.timeout(2 * PATIENCE)
def test_every_block_on_the_demo_s_lake(newcomer):
    said = [type_in(newcomer, language, text) for language, text in BLOCKS[:-2]]
    demo, _, asked, python, rows, kept = said
    assert every(f"{answer:,.0f}" in demo for question in (DEMO_QUESTION, DEMO_RESTATEMENT)
                 for answer in (question.answer_before, question.answer_after))  # fmt: skip
    assert every(name in asked for name in ("financial_statements", "concept", "2024-05-29T20:36:33Z", "unverifiable"))
    assert "result_sha256" in python
    assert every(row["available_at"] <= "2024-05-29T21:00:00Z" for row in rows)
    assert "articles" in kept


@pytest.mark.timeout(2 * PATIENCE)
def test_the_blocks_of_a_graph_of_one_s_own(newcomer, demo):
    with own_graph(newcomer) as ours:
        (_, filling), (_, range_of_days) = BLOCKS[-2:]
        type_in(newcomer, "sh", ours(filling))
        assert "xbrl_facts" in newcomer.type(ours(range_of_days))


def type_in(newcomer, language, text):
    """What a block says, typed line by line; what runs for good is asked once and stopped."""
    if language == "json":
        return ask_as_an_agent(newcomer, json.loads(text))
    if language == "python":
        return newcomer.type(f"python - <<'END'\n{text}\nEND")
    return "".join(in_shell(newcomer, line) for line in text.splitlines())


def in_shell(newcomer, line):
    command = line.split("#")[0].strip()
    if command == SUITE:
        return newcomer.type(f"{command} --dry-run")  # it is what this test is a part of
    if command == SERVED:
        return look_at_the_ui(newcomer)
    return newcomer.type(line)


def ask_as_an_agent(newcomer, settings):
    server = settings["mcpServers"]["pitlake"]
    line = [one.replace("/path/to/lake", newcomer.env["PITLAKE_LAKE"]) for one in server["args"]]
    command = shutil.which(server["command"], path=newcomer.env["PATH"])
    assert command

    async def asked():
        async with Client(StdioServerParameters(command=command, args=line, env=newcomer.env)) as client:
            return await client.call_tool("run_query", {"name": "news_latest", "params": {"ticker": "NOG"}})

    return anyio.run(asked).structured_content["data"]


def look_at_the_ui(newcomer):
    """The datasets of Dagster's user interface, asked for until it is up."""
    port = free_port()
    query = json.dumps({"query": "{ assetNodes { id } }"}).encode()
    asked = urllib.request.Request(f"http://127.0.0.1:{port}/graphql", query, {"Content-Type": "application/json"})
    end = time.monotonic() + PATIENCE
    with newcomer.serving(f"env DAGSTER_DG_DEV_PORT={port} {SERVED}"):
        while time.monotonic() < end:
            with suppress(URLError), urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
                assert len(json.load(answer)["data"]["assetNodes"]) > 40
                return ""
            time.sleep(0.5)
    raise AssertionError((newcomer.checkout.parent / "served").read_text()[-4000:])


@contextmanager
def own_graph(newcomer):
    """In place of the README's graph, lake and days the newcomer's: the demo's graph, a lake to come, a month."""
    with graph_server(GraphSettings(root=newcomer.checkout / ".pitlake/demo/graph")) as server:
        user, password = server.reader_auth
        own = {
            "bolt://graph.example:7687": server.uri,
            "USERNAME=reader": f"USERNAME={user}",
            "PASSWORD=…": f"PASSWORD={password}",
            "/srv/lake": str(newcomer.checkout.parent / "lake"),
            "2024-01-01...2024-12-31": "2024-05-01...2024-05-31",
        }

        def ours(text):
            for theirs, put in own.items():
                text = text.replace(theirs, put)
            return text

        assert every(sum(text.count(theirs) for _, text in BLOCKS[-2:]) == 1 for theirs in own)
        yield ours


def test_it_begins_with_the_two_commands():
    assert [line.split("#")[0].strip() for line in BLOCKS[0][1].splitlines()] == ["make demo", "make test"]


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([\w.]+/[\w./-]*)`", TEXT))))
def test_a_path_it_names_exists(path):
    assert (ROOT / path).exists()
