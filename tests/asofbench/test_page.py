"""docs/asofbench.md: its adapter is right where the page says so, both in a run and in pytest."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from asofbench.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/asofbench.md").read_text()
[ADAPTER] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
FIRST_SIGHT = 'options = {"careful": True, "first_sight": True}'


def test_the_adapter_of_the_page_has_about_twenty_lines():
    assert len(ADAPTER.splitlines()) < 25
    assert FIRST_SIGHT in PAGE


@pytest.mark.parametrize(("options", "claim"), [('options = {"careful": True}', (9, 20)), (FIRST_SIGHT, (13, 64))])
def test_the_adapter_scores_what_the_page_says(options, claim, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("my.py").write_text(ADAPTER.replace('options = {"careful": True}', options))
    [command] = re.findall(r"^asofbench (run my.*)$", PAGE, re.MULTILINE)
    assert main(command.split()) == 0
    assert "0 of 16 loads" in capsys.readouterr().err
    [system] = json.loads(Path("asofbench-results/results.json").read_text())["systems"]
    assert (system["groups"]["store"], system["histories"]["right"]) == ({"right": claim[0], "of": 13}, claim[1])
    assert f"right in {claim[0]} of 13" in PAGE
    assert Path("asofbench-results/badge-my-py-store.svg").exists()


def test_pytest_has_a_test_per_class_that_fails_skips_or_passes(tmp_path):
    (tmp_path / "my.py").write_text(ADAPTER)
    [command] = re.findall(r"^pytest (--asofbench .*)$", PAGE, re.MULTILINE)
    some = ["--asofbench-classes", "undated", "vendor_rewrite", "file_statistics"]
    python = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "asofbench.pytest_plugin", "-c", "/dev/null"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin"}
    done = subprocess.run(
        [*python, *command.split(), *some], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert "1 failed, 1 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    assert "vendor_rewrite: " not in done.stdout
    assert re.search(r"withheld: one instant later: .*in 8 cases, such as vendor_rewrite/fundamentals/0", done.stdout)
