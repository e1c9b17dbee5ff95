"""Each implemented part of Forge's design has a test with its id, and each term is defined in one module."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

IDS = frozenset((
    "T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8", "A1", "A2", "A3", "F1", "F2", "F3", "F4", "S1", "G1", "C1", "O2",
    "P1", "N1", "Q1", "L1", "K1", "K2", "K3", "K4", "X1", "X2", "X3", "O1", "R1", "M1",
))  # fmt: skip
"""The ids of tools, the agent's loop, prompt and routing, files, sessions, guardrails, settings, effects of writes, the
audit trail, names, permissions, layers, skills, sub-agents, their checks and outputs, activation, and changes to
skills."""


def borne(source: str) -> set[str]:
    """Return the design ids in the names and parameter ids of a module's tests."""
    result: set[str] = set()
    for test in ast.walk(ast.parse(source)):
        if not isinstance(test, ast.FunctionDef) or not test.name.startswith("test_"):
            continue
        inputs = [one.value for part in test.decorator_list for one in ast.walk(part) if isinstance(one, ast.Constant)]
        names = [test.name.split("_")[1], *(each.split(" ")[0] for each in inputs if isinstance(each, str))]
        asserts = any(isinstance(each, ast.Assert) or "raises" in ast.dump(each) for each in ast.walk(test))
        result |= {name.upper() for name in names if asserts} & IDS
    return result


def test_every_design_id_is_covered_by_a_test():
    here = [borne(place.read_text(encoding="utf-8")) for place in Path(__file__).parent.glob("test_*.py")]
    assert IDS - set().union(*here) == set()


ROW = re.compile(r"^\| ([A-Z]\d) \| .+ \| `([^`]+)` \| `([^`:]+)::(\w+)` \|$", re.MULTILINE)


def test_the_checklist_lists_every_id_once_with_existing_modules_and_tests():
    root = Path(__file__).parents[2]
    text = (root / "docs" / "forge" / "checklist.md").read_text("utf-8")
    rows = ROW.findall(text)
    assert sorted(row[0] for row in rows) == sorted(IDS | {"H1"})
    assert len(rows) == len(re.findall(r"^\| [A-Z]\d ", text, re.MULTILINE))
    assert [module for _, module, _, _ in rows if not (root / module).is_file()] == []
    assert [
        f"{file}::{name}"
        for _, _, file, name in rows
        if f"def {name}(" not in (root / "tests" / file).read_text("utf-8")
    ] == []


@pytest.mark.parametrize(
    "source",
    [
        "'Ids: T1.'\ndef test_it(): assert 1",
        "def test_t1_it(): pass",
        "def test_it(): assert 't1'",
        "def t1(): assert 1",
    ],
)
def test_an_id_that_is_only_mentioned_does_not_count_as_covered(source):
    assert borne(source) == set()


def test_n1_each_name_of_the_design_is_defined_only_in_its_home_module():
    homes = {
        "forge.fs.entries": "DirEntry",
        "forge.memory.guardrails": "Violation Guardrails",
        "forge.providers.base": "FetchResult",
        "forge.records": "parse render",
        "forge.agent.session": "SessionContext",
        "forge.core.tape": "Tape Lane",
        "forge.agent.tools.text": "section",
    }
    for home, names in homes.items():
        for name in names.split():
            assert getattr(import_module(home), name).__module__.startswith(home), f"{home}.{name}"
    pattern = re.compile(rf"^(?:class|def) ({'|'.join(' '.join(homes.values()).split())})\b", re.MULTILINE)
    root = Path(__file__).parents[2] / "forge"
    defined = sorted(name for place in root.rglob("*.py") for name in pattern.findall(place.read_text("utf-8")))
    assert defined == sorted(" ".join(homes.values()).split())


def test_l1_lasting_modules_do_not_import_modules_that_depend_on_the_model():
    passing = re.compile(r"forge\.(agent|cli|conversation|loop|model|prompt|session|tools)\b")
    lasting = ("records", "memory", "fs", "core", "tracking/receipts.py")
    root = Path(__file__).parents[2] / "forge"
    places = [place for name in lasting for place in ([root / name] if "." in name else (root / name).rglob("*.py"))]
    assert len(places) > 15
    wrong = {
        place.name: result
        for place in places
        if (result := re.findall(rf"^\s*(?:from|import) {passing.pattern}", place.read_text("utf-8"), re.MULTILINE))
    }
    assert wrong == {}
