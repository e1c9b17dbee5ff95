"""docs/proxy.md: its commands and its Python run from the top in one folder and give the output on the page."""

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
def shown(tmp_path_factory):
    """A function that returns a block's output by its number. Each block runs once, after all earlier blocks."""
    place, texts = tmp_path_factory.mktemp("proxy"), {}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    surroundings = {"PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(place)}

    def until(number):
        for block in TYPED:
            if block.number <= number and block.number not in texts:
                command = ["bash", "-euc"] if block.language == "sh" else [sys.executable, "-c"]
                done = subprocess.run(
                    [*command, block.text],
                    cwd=place, env=surroundings, capture_output=True, text=True, timeout=120, check=False,
                )  # fmt: skip
                assert done.returncode == 0, done.stderr
                texts[block.number] = done.stdout
        return texts[number]

    return until


@pytest.mark.parametrize("block", TYPED, ids=str)
def test_a_block_runs_and_shows_what_the_page_says(block, shown):
    text = shown(block.number)
    assert SHOWN.get(block.number, "") in text
    assert "halve" not in text
    if block.number in (3, 5):
        assert text == shown(3)  # the replay gives the output of the run
        assert "search_news ['query']" in text
        assert text.count('"type": "unverifiable"') == 1


def test_the_page_names_every_policy_setting_and_every_ready_policy():
    assert [name for name in ToolPolicy.__dataclass_fields__ if f"`{name}`" not in PAGE] == []
    for name, file in ready().items():
        assert f"| `{name}` |" in PAGE
        assert tomllib.loads(file.read_text())["server"] == name
