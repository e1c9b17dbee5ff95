"""README.md does what it says: its commands and its Python run as they stand, in a directory with a filled lake."""

import json
import os
import re
import subprocess
import sys

import pytest

from pitlake.lake.lake import Lake
from tests.cli.conftest import CREATED, ROOT, article, publish
from tests.every import every

TEXT = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


COMMANDS = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("pitlake ")]


@pytest.fixture
def run(tmp_path):
    publish(Lake(tmp_path / ".pitlake/demo/lake"), "run", [article(1, "Title", CREATED)])
    commands = tmp_path / ".venv/bin"
    commands.mkdir(parents=True)
    (commands / "pitlake").write_text(f"#!{sys.executable}\nfrom pitlake.cli import main\nmain()\n")
    (commands / "pitlake").chmod(0o755)
    export = next(
        line for block in blocks("sh") for line in block.splitlines() if line.startswith("export PITLAKE_LAKE")
    )

    def in_shell(line: str) -> subprocess.CompletedProcess:
        settings = os.environ | {"PYTHONPATH": str(ROOT)}
        script = ["sh", "-c", f"{export}\n{line}"]
        return subprocess.run(
            script, cwd=tmp_path, env=settings, capture_output=True, text=True, timeout=120, check=False
        )

    return in_shell


def test_it_begins_with_the_two_commands():
    assert [line.split("#")[0].strip() for line in blocks("sh")[0].splitlines()] == ["make demo", "make test"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_runs_as_it_stands(run, command):
    said = run(command)
    assert said.returncode == 0, said.stderr
    assert said.stdout


def test_the_python_runs_as_it_stands(run):
    [code] = blocks("python")
    said = run(f"{sys.executable} - <<'END'\n{code}\nEND")
    assert said.returncode == 0, said.stderr
    assert "result_sha256" in said.stdout


def test_the_agents_settings_name_a_command_that_exists():
    [settings] = [json.loads(block) for block in blocks("json")]
    server = settings["mcpServers"]["pitlake"]
    said = subprocess.run(
        [sys.executable, "-c", "from pitlake.cli import main; main()", server["args"][0], "--help"],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert every(option in said.stdout for option in server["args"] if option.startswith("--"))


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([\w.]+/[\w./-]*)`", TEXT))))
def test_a_path_it_names_exists(path):
    assert (ROOT / path).exists()
