"""The commands of CONTRIBUTING.md run a file, a single test, and long tests only on request."""

import os
import re
import resource
import subprocess
import sys

import pytest

from pitlake import __version__
from tests.cli.conftest import ROOT

(BLOCK,) = re.findall(r"^```sh\n(.*?)^```", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.DOTALL | re.MULTILINE)
COMMANDS = [line.split() for line in BLOCK.splitlines()]


def passed(*arguments: str) -> tuple[int, float]:
    """Return how many tests a command ran, and its CPU seconds. Fails if one of them failed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command, in_a_worker = [sys.executable, *arguments], os.environ | {"PYTEST_XDIST_WORKER": "gw0"}
    done = subprocess.run(command, cwd=ROOT, env=in_a_worker, capture_output=True, text=True, timeout=300, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, 5), done.stdout + done.stderr
    number = re.search(r"(\d+) passed", done.stdout)
    return int(number[1]) if number else 0, sum(after[:2]) - sum(before[:2])


@pytest.mark.long
def test_the_commands_run_a_file_a_test_and_long_tests_only_on_request():
    file, test, long_file = (command[1:] for command in COMMANDS)
    assert passed(*file)[0] > 10
    number, seconds = passed(*test)
    assert number == 1
    assert seconds <= 8
    by_default = passed("-m", "pytest", long_file[-1], "-k", "right_after_writing_its_log_entry")
    assert by_default[0] == 0
    assert passed(*long_file, "-k", "right_after_writing_its_log_entry")[0] == 1


def test_the_changelog_begins_with_the_version():
    heading = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert heading[1] == __version__
