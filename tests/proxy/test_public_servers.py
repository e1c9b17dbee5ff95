"""Public servers: each is installed as published, drafted with `--learn`, and queried with the reviewed draft."""

import json
import os
import shutil
import subprocess
import sys
import tomllib

import anyio
import pytest

from pitlake.errors import BadInput
from pitlake.proxy.policy import parse
from tests.doors.mcp_client import ROOT
from tests.proxy.internet import internet, through
from tests.proxy.public_servers import INTERNET, SERVERS, made
from tests.proxy.worlds import ask, environment, proxied

CLOSED = "http://127.0.0.1:9"
pytestmark = pytest.mark.long


def installed(server, folder):
    """Install a server's package into a folder from its index, and return the server's command."""
    program, *arguments = (part.replace("{folder}", str(folder)) for part in server.start)
    package = folder / "package"
    if server.is_npm:
        if shutil.which("npm") is None:
            pytest.skip("npm is not installed")
        line = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", package, server.package]
        subprocess.run(line, check=True, timeout=600)
        return [str(package / "node_modules/.bin" / program), *arguments]
    return [str(environment(package, server.package, *server.needs) / program), *arguments]


def drafted(server, command, folder, variables):
    """Return the draft and the messages of `pitlake proxy --learn`."""
    draft = folder / f"draft-{len(list(folder.glob('draft-*.toml')))}.toml"
    calls = [part for tool, given in asked(server, folder).items() for part in ("--call", tool, json.dumps(given))]
    line = [sys.executable, "-m", "pitlake", "proxy", "--learn", draft, *calls, "--", *command]
    run = subprocess.run(line, check=False, env=os.environ | variables, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return draft.read_text(), run.stderr


def asked(server, folder):
    """Return the calls to a server, with `folder` as the folder of its files."""
    return json.loads(json.dumps(server.calls).replace("{folder}", str(folder)))


def reviewed(server, draft):
    """Return the policy that a reviewer makes of a draft."""
    blocks = draft.replace("reviewed = false", "reviewed = true").split("\n\n")
    for number, block in enumerate(blocks):
        if any(f"# [tools.{tool}]" in block for tool in server.passes):
            blocks[number] = "\n".join(line.removeprefix("# ") for line in block.splitlines()[1:])
    text = "\n\n".join(blocks)
    for old, new in server.review.items():
        assert old in text, text
        text = text.replace(old, new)
    return parse(text)


async def passed(server, command, policy, folder):
    """Return the rows of each tool's answer, and everything that a model could read."""
    async with proxied(command, policy, folder / "run.jsonl", seconds=60) as (client, reader):
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        answers = {}
        for tool, given in asked(server, folder).items():
            if tool in server.passes:
                own = {name: value for name, value in given.items() if name in tools[tool].input_schema["properties"]}
                answers[tool] = (await ask(client, reader, tool, own)).structured_content["data"]
        return answers, "".join(reader.texts)


@pytest.mark.parametrize("name", SERVERS)
def test_a_public_servers_draft_cuts_off_or_says_what_is_missing(name, tmp_path, monkeypatch):
    server = SERVERS[name]
    made(tmp_path)
    command = installed(server, tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable, setting in server.variables.items():
        monkeypatch.setenv(variable, setting)
    with internet(INTERNET, tmp_path) as (variables, _):
        draft, _ = drafted(server, command, tmp_path, variables)
        assert [words for words in server.comments if words not in draft] == [], draft
        assert "FUTURE" not in draft
        if not server.passes:
            assert "tools" not in tomllib.loads(draft)
            with pytest.raises(BadInput, match="names no tool"):
                parse(draft.replace("reviewed = false", "reviewed = true"))
            return
        for variable, setting in variables.items():
            monkeypatch.setenv(variable, setting)
        answers, texts = anyio.run(passed, server, command, reviewed(server, draft), tmp_path)
    for tool, marks in server.passes.items():
        rows = [json.dumps(row) for row in answers[tool]]
        assert [any(mark in row for row in rows) for mark in marks] == [True] * len(rows), rows
    assert "FUTURE" not in texts
    assert "987.6" not in texts


@pytest.mark.parametrize("name", [name for name, server in SERVERS.items() if server.calls_out])
def test_a_server_that_cannot_reach_its_source_is_reported_in_one_line(name, tmp_path):
    server = SERVERS[name]
    command = installed(server, tmp_path)
    variables = server.variables | through(CLOSED) | {"HOME": str(tmp_path)}
    draft, output = drafted(server, command, tmp_path, variables)
    complaints = [line.split(":")[0] for line in output.splitlines()[:-1]]
    empty = [tool for tool in server.calls if "the answer has an empty list" in draft and f"# [tools.{tool}]" in draft]
    assert sorted([*complaints, *empty]) == sorted(server.calls), output
    assert [line for line in output.splitlines()[:-1] if "the sample call failed: " not in line] == []
    assert "tools" not in tomllib.loads(draft)
