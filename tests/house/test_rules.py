"""The house's rules a machine can see: docstrings, sizes, import directions, lint, generated pages."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGES = (
    "pitlake",
    "forge",
    "assets",
    "checks",
    "resources",
    "local_servers",
    "pipelines",
    "sample",
    "bench",
    "asofbench",
    "scripts",
)
FILE_LINES = 450
FUNCTION_LINES = 70
ROOT = Path(__file__).resolve().parents[2]
UNNATURAL = re.compile(
    r"\bbefell\b|\bof one's own\b|(?<!there )\bis none\b"
    r"|(?<![Tt]here )\b(?:is|are|was|were) no (?!longer\b|data\b|more\b|less\b|second\b|\w+er\b)\w"
)
# What a gap's reason says is data: a lake that holds it would take another wording for another gap.
STORED_WORDS = re.compile(r"reason=|retry\(|Unparsable\(|no update is no update")
TESTS = sorted((ROOT / "tests").rglob("*.py"))
CHECKS = re.findall(
    r"^\t@\$\(BIN\)/(.+)$",
    re.search(r"^check: .*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1],
    re.MULTILINE,
)
MODULES = [module for package in PACKAGES for module in sorted((ROOT / package).rglob("*.py"))]


def name_of(module: Path) -> str:
    return str(module.relative_to(ROOT))


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_module_says_what_it_is_and_stays_readable(module):
    text = module.read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "the module says nothing about itself"
    assert text.count("\n") <= FILE_LINES
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert [node.name for node in functions if node.end_lineno - node.lineno >= FUNCTION_LINES] == []


@pytest.mark.parametrize("module", TESTS, ids=name_of)
def test_no_test_asserts_all_of_what_may_be_nothing(module):
    """`tests.every` refuses it. What may rightly be empty is a list of what is wrong, compared with []."""
    nodes = list(ast.walk(ast.parse(module.read_text())))
    held = {inner for node in nodes if isinstance(node, ast.Assert) for inner in ast.walk(node.test)}
    held -= {node.operand for node in nodes if isinstance(node, ast.UnaryOp)}  # not all of nothing is false
    assert [node.lineno for node in held if isinstance(node, ast.Call) and ast.unparse(node.func) == "all"] == []


@pytest.mark.parametrize("command", [command for command in CHECKS if command != "mypy"])
def test_make_check_passes(root, command):
    program, *arguments = command.split()
    outcome = subprocess.run(
        [Path(sys.executable).with_name(program), *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=840,
        check=False,
        env=os.environ | {"PYTHONPATH": "."},
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.slow
@pytest.mark.xdist_group("types")
def test_types_are_right_in_the_whole_house(types_checked):
    assert types_checked.returncode == 0, types_checked.stdout + types_checked.stderr


@pytest.mark.parametrize("name", [*PACKAGES, ".claude", "docs", "README.md"])
def test_words_are_those_a_native_reader_expects(name):
    """`is not a date`, never `is no date`."""
    place = ROOT / name
    files = [place] if place.is_file() else [*place.rglob("*.py"), *place.rglob("*.md")]
    lines = [(path, line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines
    found = [(str(path), line) for path, line in lines if UNNATURAL.search(line) and not STORED_WORDS.search(line)]
    assert found == []
