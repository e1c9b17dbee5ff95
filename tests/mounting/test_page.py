"""docs/mount.md: its commands and its Python, typed from the top in one folder, with what they show."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT
from tests.house.test_docs import blocks

SHOWN = {1: ["NOG", "0.44", "3 new"], 2: ["[('NOG', 1)]"], 3: ["0.41", "0.42", "observed", "1 new"],
         4: ['name = "estimates"', "# estimates: Mounted table estimates"], 5: ["[('NOG', 0.41)]"]}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("mount")


@pytest.mark.parametrize("block", blocks("mount.md"), ids=str)
def test_a_block_runs_and_shows_what_the_page_says(block, place):
    assert block.runs
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    surroundings = {"PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(place), "PITLAKE_LAKE": str(place / "my-lake")}
    command = ["bash", "-euc", block.text] if block.language == "sh" else [sys.executable, "-c", block.text]
    said = subprocess.run(
        command, cwd=place, env=surroundings, capture_output=True, text=True, timeout=120, check=False
    )
    assert said.returncode == 0, said.stderr
    shown = said.stdout + said.stderr
    assert [text for text in SHOWN[block.number] if text not in shown] == []
    assert "0.47" not in shown or block.number != 1
