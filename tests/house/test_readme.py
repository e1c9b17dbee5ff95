"""README.md is run from the top in a fresh checkout and an empty home, block by block, as a new user would."""

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
BLOCKS = re.findall(r"(?<!-->\n)^```(\w+)\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)
SERVED = "make ui"
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("newcomer")]


@pytest.mark.timeout(2 * PATIENCE)
def test_every_readme_block_works_on_the_demo_lake(newcomer):
    message = [type_in(newcomer, language, text) for language, text in BLOCKS[:-2]]
    public, apple, mounted, python, agent, demo = message
    assert every(answer in text for text in (public, apple) for answer in ("6.29", "9.08"))
    assert every("0.44" in text for text in (mounted, python))
    assert ("6.29" in agent, "9.08" in agent) == (True, False)
    assert every(f"{answer:,.0f}" in demo for question in (DEMO_QUESTION, DEMO_RESTATEMENT)
                 for answer in (question.answer_before, question.answer_after))  # fmt: skip


@pytest.mark.timeout(2 * PATIENCE)
def test_the_readme_blocks_for_an_own_graph_work(newcomer, demo):
    with own_graph(newcomer) as ours:
        (_, filling), (_, range_of_days) = BLOCKS[-2:]
        type_in(newcomer, "sh", ours(filling))
        assert "xbrl_facts" in newcomer.type(ours(range_of_days))


def type_in(newcomer, language, text):
    """Run a block and return its output. A server is queried once and stopped."""
    if language == "json":
        return ask_as_an_agent(newcomer, json.loads(text))
    if language == "python":
        return newcomer.type(f"python - <<'END'\n{text}\nEND")
    typed, served, _ = text.partition(SERVED)
    return newcomer.type(typed) + (look_at_the_ui(newcomer) if served else "")


def ask_as_an_agent(newcomer, settings):
    server = settings["mcpServers"]["pitlake"]
    line = [argument.replace("/path/to/lake", newcomer.env["PITLAKE_LAKE"]) for argument in server["args"]]
    command = shutil.which(server["command"], path=newcomer.env["PATH"])
    assert command

    async def asked():
        async with Client(StdioServerParameters(command=command, args=line, env=newcomer.env)) as client:
            params = {"ticker": "AAPL", "concept_qname": "us-gaap:EarningsPerShareDiluted"}
            return await client.call_tool("run_query", {"name": "xbrl_metric", "params": params})

    return json.dumps(anyio.run(asked).structured_content["data"])


def look_at_the_ui(newcomer):
    """Wait until Dagster's UI is up, and check that it lists the datasets."""
    port = free_port()
    query = json.dumps({"query": "{ assetNodes { id } }"}).encode()
    question = urllib.request.Request(f"http://127.0.0.1:{port}/graphql", query, {"Content-Type": "application/json"})
    end = time.monotonic() + PATIENCE
    with newcomer.serving(f"env DAGSTER_DG_DEV_PORT={port} {SERVED}"):
        while time.monotonic() < end:
            with suppress(URLError), urllib.request.urlopen(question, timeout=PATIENCE) as answer:
                assert len(json.load(answer)["data"]["assetNodes"]) > 40
                return ""
            time.sleep(0.5)
    raise AssertionError((newcomer.checkout.parent / "served").read_text()[-4000:])


@contextmanager
def own_graph(newcomer):
    """Yield a function that replaces the README's graph, lake and days by the demo's graph, a new lake and a month."""
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


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([\w.]+/[\w./-]*)`", TEXT))))
def test_every_path_named_in_the_readme_exists(path):
    assert (ROOT / path).exists()
