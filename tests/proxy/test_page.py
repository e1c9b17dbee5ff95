"""docs/proxy.md: its commands and its Python, typed from the top in one folder, with what they show."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pitlake.proxy.policy import ToolPolicy, ready
from tests.cli.conftest import ROOT
from tests.house.test_docs import blocks

PAGE = (ROOT / "docs/proxy.md").read_text()
TYPED = [block for block in blocks("proxy.md") if block.runs and block.language in ("sh", "python")]
SHOWN = {3: "Northwind lifts its guidance", 5: "Northwind lifts its guidance", 7: "['Northwind lifts its guidance']"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("proxy")


@pytest.fixture(scope="module")
def answers():
    return []


@pytest.mark.parametrize("block", TYPED, ids=str)
def test_a_block_runs_and_shows_what_the_page_says(block, place, answers):
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    surroundings = {"PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(place)}
    command = ["bash", "-euc", block.text] if block.language == "sh" else [sys.executable, "-c", block.text]
    done = subprocess.run(
        command, cwd=place, env=surroundings, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert SHOWN.get(block.number, "") in done.stdout
    assert "halve" not in done.stdout
    if block.number in (3, 5):
        answers.append(done.stdout)
        assert answers[0] == answers[-1]  # the replay is the run
        assert "search_news ['query']" in done.stdout
        assert done.stdout.count('"type": "unverifiable"') == 1


def test_the_page_names_every_line_of_a_policy_and_every_ready_one():
    assert [name for name in ToolPolicy.__dataclass_fields__ if f"`{name}`" not in PAGE] == []
    for name, file in ready().items():
        assert f"| `{name}` |" in PAGE
        assert tomllib.loads(file.read_text())["server"] == name
