"""README.md is typed from the top in a fresh checkout and an empty home, block by block, as who comes new would."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError

import anyio
import pytest
from mcp import Client, StdioServerParameters

from local_servers.server import free_port
from resources.graph.open import GraphSettings, graph_server
from sample.manifest import DEMO_QUESTION, DEMO_RESTATEMENT
from tests.cli.conftest import ROOT
from tests.every import every

TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)
SERVED, SUITE = "make ui", "make test"
PATIENCE = 900


@dataclass
class Newcomer:
    """Somebody with a checkout, a home and a shell that knows nothing but what was typed into it."""

    checkout: Path
    env: dict[str, str]

    def type(self, line: str) -> str:
        """What a line says, typed by a shell that remembers its exports. Fails where it ends otherwise than well."""
        kept = self.checkout.parent / "exported"
        said = subprocess.run(
            ["sh", "-c", f"{line}\nended=$?; env -0 > '{kept}'; exit $ended"],
            cwd=self.checkout, env=self.env, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert said.returncode == 0, f"{line}\n{said.stdout[-2000:]}\n{said.stderr[-4000:]}"
        told = dict(one.split("=", 1) for one in kept.read_text().split("\0") if one)
        self.env = {name: value for name, value in told.items() if name not in ("_", "SHLVL", "PWD", "OLDPWD")}
        return said.stdout

    @contextmanager
    def serving(self, line: str) -> Iterator[None]:
        """A command that runs for good, until the block is left."""
        with (self.checkout.parent / "served").open("w") as log:
            running = subprocess.Popen(
                ["sh", "-c", f"exec {line}"],
                cwd=self.checkout, env=self.env, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
            try:
                yield
            finally:
                os.killpg(running.pid, signal.SIGINT)
                running.wait(PATIENCE)


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory):
    if not (ROOT / ".git").exists() or shutil.which("make") is None:
        pytest.skip("needs a checkout and make")
    place = tmp_path_factory.mktemp("newcomer")
    checkout = place / "pitlake"
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, checkout / name)
    (checkout / ".venv").mkdir()
    for installed in ("bin", "lib", "pyvenv.cfg"):
        (checkout / ".venv" / installed).symlink_to(Path(sys.prefix) / installed)
    (checkout / ".venv/.set-up").touch()  # or it would be made again, for this checkout, in the one the tests run in
    (place / "home").mkdir()
    path = (one for one in os.environ["PATH"].split(os.pathsep) if not Path(one).is_relative_to(ROOT))
    return Newcomer(checkout, {"HOME": str(place / "home"), "PATH": os.pathsep.join(path), "LANG": "C.UTF-8"})


@pytest.mark.slow
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


@pytest.mark.long
@pytest.mark.timeout(2 * PATIENCE)
def test_the_blocks_of_a_graph_of_one_s_own(newcomer):
    if not (newcomer.checkout / ".pitlake/demo/graph").exists():
        newcomer.type("make demo")
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
