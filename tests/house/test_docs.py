"""docs/*.md: every command and every block of Python runs unchanged, or a comment above it says why not."""

import html
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
import yaml

from checks.audit import BLOCKING, WARNINGS
from checks.expectations import BLOCKING as EXPECTED
from checks.expectations import WARNING as WARNED
from pitlake import cli, errors
from scripts import terminal_pictures
from tests.cli.conftest import ROOT
from tests.every import every

DOCS = ROOT / "docs"
GENERATED = {"cli.md", "graph.md", "queries.md"}
# Pages that other tests run, because they need more.
ELSEWHERE = {
    "adding-a-dataset.md": "tests/assets/test_adding_a_dataset.py",
    "adding-a-source.md": "tests/providers/test_adding_a_source.py",
    "adding-an-mcp-tool.md": "tests/doors/test_adding_a_tool.py",
    "asking.md": "tests/doors/test_asking_page.py",
    "asofbench.md": "tests/asofbench/test_page.py",
    "check.md": "tests/check/test_pages.py",
    "forge/a-day.md": "tests/forge/test_pages.py",
    "mount.md": "tests/mounting/test_page.py",
    "sealed.md": "tests/doors/test_sealed_page.py",
    "proxy.md": "tests/proxy/test_page.py",
    "real-lake.md": "tests/pipelines/sync/test_page.py",
    "study.md": "tests/check/test_pages.py",
}
WRITTEN = [path.relative_to(DOCS).as_posix() for folder in (DOCS, DOCS / "forge") for path in folder.glob("*.md")]
PAGES = sorted({*WRITTEN} - GENERATED)
FENCE = re.compile(r"^(<!-- not run: \S.*-->\n)?```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
BACKTICKED = re.compile(r"`((?:pitlake|make) [a-z][^`\n]*)`")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: str
    number: int
    language: str
    text: str
    runs: bool

    def __str__(self) -> str:
        return f"{self.page} {self.number}"


def blocks(page: str) -> list[Block]:
    result = FENCE.findall((DOCS / page).read_text())
    return [Block(page, number, kind, text, not mark) for number, (mark, kind, text) in enumerate(result, 1)]


BLOCKS = [block for page in PAGES if page not in ELSEWHERE for block in blocks(page)]
RUN = [block for block in BLOCKS if block.runs and block.language in ("sh", "python")]


@pytest.fixture(scope="session")
def filled(market_lake: Path) -> Path:
    """A lake with every type of text and number."""
    return market_lake


@pytest.fixture
def place(filled, tmp_path, monkeypatch) -> Path:
    """A working directory with a copy of that lake in the default location."""
    shutil.copytree(filled, tmp_path / ".pitlake/lake")
    (tmp_path / "pitlake").write_text(f"#!{sys.executable}\nfrom pitlake.cli import main\nmain()\n")
    (tmp_path / "pitlake").chmod(0o755)
    (tmp_path / ".pitlake/demo").mkdir()
    (tmp_path / ".pitlake/demo/lake").symlink_to(tmp_path / ".pitlake/lake")
    monkeypatch.chdir(tmp_path)
    for name in ("PITLAKE_LAKE", "PITLAKE_NOTIFY", "PITLAKE_REPORT", "DAGSTER_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PWD", str(tmp_path))
    monkeypatch.setenv("PATH", os.pathsep.join((str(tmp_path), str(Path(sys.executable).parent), os.environ["PATH"])))
    return tmp_path


def type_in(line: str, monkeypatch) -> int:
    """Run one line as a shell would. `pitlake` runs in this process, which saves the start of a new one."""
    words = shlex.split(os.path.expandvars(line), comments=True)
    if words[0] == "export":
        for name, value in (word.split("=", 1) for word in words[1:]):
            monkeypatch.setenv(name, value)
        return 0
    if words[0] == "pitlake" and not re.search(r"[|>;&]|\$\(|\*\.", line):
        return cli.invoke(words[1:])
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(["sh", "-c", line], env=environment, timeout=120, check=False).returncode


@pytest.mark.parametrize("block", RUN, ids=str)
def test_every_code_block_runs_unchanged(block, place, monkeypatch, capfd):
    if block.language == "python":
        exec(compile(block.text, str(block), "exec"), {})
        return
    for line in block.text.replace("\\\n", " ").splitlines():
        if line.split("#")[0].strip():
            assert type_in(line, monkeypatch) == 0, capfd.readouterr().err


def test_few_code_blocks_are_excluded_and_each_is_marked():
    assert every((ROOT / test).exists() for test in ELSEWHERE.values())
    assert len([block for block in RUN if block.language == "sh"]) >= 12
    reply = [block for block in BLOCKS if block.language in ("sh", "python") and not block.runs]
    assert not [str(block) for block in reply if block.language == "sh" and only_lake_commands(block)]


def only_lake_commands(block: Block) -> bool:
    """Return whether a test could run the block, because its commands only read and write the test's lake."""
    lines = [line for line in block.text.splitlines() if line.strip()]
    return all(
        line.startswith("pitlake ") and not re.search(r" (shell|mcp|web|fetch|backfill|agents run|forge ask)\b", line)
        for line in lines
    )


@pytest.mark.parametrize("page", PAGES)
def test_a_command_named_in_a_sentence_exists_with_its_options(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for words in map(shlex.split, BACKTICKED.findall((DOCS / page).read_text())):
        if words[0] == "make":
            assert words[1] in targets, words
            continue
        assert words[1] in cli.names(), words
        command: click.Command = cli.load(words[1])
        if isinstance(command, click.Group) and words[2:3] and words[2] in command.list_commands(None):
            command = command.get_command(None, words[2])
        existing = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--") and word != "--"} <= existing, words


@pytest.mark.parametrize("page", PAGES)
def test_every_link_and_path_has_a_target(page):
    text = (DOCS / page).read_text()
    links = [link.split("#")[0] for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    assert [link for link in links if link and not ((DOCS / page).parent / link).exists()] == []


def test_the_index_names_every_page():
    linked = set(re.findall(r"\]\(([\w./-]+)\)", (DOCS / "README.md").read_text()))
    assert {*WRITTEN} - {"README.md"} <= linked
    assert {"datasets/README.md", "notebooks/"} <= linked


def test_the_runbook_has_every_check_and_every_error():
    text = (DOCS / "runbook.md").read_text()
    names = set(re.findall(r"`(\w+)`", text))
    assert {*BLOCKING, *WARNINGS, EXPECTED, WARNED} <= names
    own = [kind for kind in vars(errors).values() if getattr(kind, "__module__", "") == errors.__name__]
    classes = {kind.__name__ for kind in own if isinstance(kind, type)} - {"PitlakeError"}
    assert classes <= names, sorted(classes - names)


SPELLED = re.compile(r"\b(?:PITLAKE|FORGE|NEO4J|DAGSTER_PG|CELERY|AWS|SEC_EDGAR|EDGAR_ID)\w*\b|\b[A-Z]+_API_KEY\b")
# The last four are prefixes of names, and the socket that `pitlake agents run` passes to its program.
NOT_SETTINGS = {"PITLAKE_", "NEO4J_AUTH", "PITLAKE_BENCH_FEAST", "PITLAKE", "NEO4J", "AWS", "PITLAKE_SOCKET"}


def test_the_table_of_variables_lists_exactly_those_the_code_reads():
    """Every variable that the code reads is in the table, and the table has no other."""
    rows = re.findall(r"^\| (`[^|]+) \|", (DOCS / "deployment.md").read_text(), flags=re.MULTILINE)
    reply = {name for row in rows for name in re.findall(r"`([A-Z][A-Z0-9_<>]+)`", row)}
    folders = (
        "pitlake",
        "forge",
        "assets",
        "checks",
        "resources",
        "local_servers",
        "pipelines",
        "deploy",
        ".claude/hooks",
    )
    places = [ROOT / name for name in folders]
    files = [path for place in places for path in place.rglob("*") if path.suffix in (".py", ".yaml")]
    read = {name for path in files for text in [path.read_text()] for name in SPELLED.findall(text)}
    read = {name for name in read - NOT_SETTINGS if not name.endswith("_")}
    assert read - reply == set()
    spelled = "\n".join(path.read_text() for path in [*files, ROOT / "Makefile"])
    assert {name for name in reply if "<" not in name and name not in spelled} <= PASSED_ON


# Variables that libraries read, not our code.
PASSED_ON = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "HTTPS_PROXY"}


def test_yaml_blocks_in_the_pages_are_valid_yaml():
    for block in BLOCKS:
        if block.language == "yaml":
            assert list(yaml.safe_load_all(block.text))


@pytest.mark.parametrize("page", terminal_pictures.RECORDED)
def test_a_recorded_terminal_shows_the_last_commands_of_its_page(page):
    assert f"](pictures/{page}.svg)" in (DOCS / f"{page}.md").read_text()
    drawn = html.unescape(re.sub("<[^>]*>", "\n", (DOCS / f"pictures/{page}.svg").read_text())).replace("\xa0", " ")
    begin = terminal_pictures.RECORDED[page]
    display = next(begin + block.text.partition(begin)[2] for block in blocks(f"{page}.md") if begin in block.text)
    words = display.split()
    assert [word for word in words if word not in drawn] == []
