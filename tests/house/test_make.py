"""The make targets are listed and explained, and agree with README.md and continuous integration."""

import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def make(root, *arguments):
    return subprocess.run(["make", *arguments], cwd=root, capture_output=True, text=True, timeout=60, check=False)


def targets(root) -> set[str]:
    return set(re.findall(r"^([a-z]+):", (root / "Makefile").read_text(), flags=re.MULTILINE))


def test_bare_make_lists_every_target_with_its_purpose(root):
    listing = re.findall(r"^  make (\w+) +\S", make(root).stdout, flags=re.MULTILINE)
    assert set(listing) == targets(root)
    assert re.findall(r"^(\w+)$", make(root).stdout, flags=re.MULTILINE) == ["Use", "Run", "Develop", "Prove"]


def test_readme_names_only_targets_that_exist(root):
    names = set(re.findall(r"\bmake ([a-z]+)", (root / "README.md").read_text()))
    assert {"demo", "test"} <= names <= targets(root)


def test_continuous_integration_runs_make_check_demo_and_test(root):
    commands = re.findall(r"^(?:exec )?(make .+)$", (root / ".ci/run").read_text(), flags=re.MULTILINE)
    assert commands == ["make check", "make demo", "make test"]


def test_a_run_without_days_says_what_to_type(root):
    outcome = make(root, "-n", "run")
    assert outcome.returncode != 0
    assert "make run DAYS=" in outcome.stderr


def test_an_unsuitable_python_is_refused_with_the_next_step(root, tmp_path):
    shutil.copytree(root / "scripts", tmp_path / "scripts")
    outcome = subprocess.run(
        ["sh", "scripts/set-up"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHON": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 1
    assert "make PYTHON=" in outcome.stderr
    assert not (tmp_path / ".venv").exists()


def test_set_up_is_plain_posix_shell(root):
    shell = shutil.which("dash") or "sh"
    assert subprocess.run([shell, "-n", root / "scripts/set-up"], check=False).returncode == 0
