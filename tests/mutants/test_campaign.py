"""The campaign of mutants works: it kills what a test notices, tells what none does, and goes on where it stopped."""

import ast
import json
import os
import subprocess
import sys

import pytest

from tests.mutants import campaign
from tests.mutants.areas import AREAS, Area
from tests.mutants.operators import MUTATIONS, is_one, mutants
from tests.mutants.running import apart

SOURCE = '''"""É."""
LIMITS = {"é": True}


def least(a, b):
    """The lesser one."""
    return a if a < b else b


def waits(n):
    while n:
        n = 0


def unasked(a):
    return not a
'''
TESTS = """import subprocess, sys
import toy

def test_least():
    toy.least(1, 2)
    subprocess.run([sys.executable, "-c", "import toy; assert toy.least(2, 1) == 1"], check=True)

def test_waits():
    toy.waits(2)
"""
DRIVER = """
import json, sys
from pathlib import Path
import anyio.pytest_plugin, _hypothesis_pytestplugin, hypothesis, pytest_timeout
from tests.mutants.areas import Area
from tests.mutants.campaign import Campaign, drawn
from tests.mutants.running import Bench

root, areas = Path(sys.argv[1]), {"toy": Area(("toy.py",), ("test_*.py",))}
campaign = Campaign(Bench(root, root.parent / "work", grace=3), areas)
print(json.dumps({mutant.key: verdict for mutant, verdict in campaign.run(list(drawn(root, areas, 99, 0)))}))
"""


def run(toy, root):
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(toy)], cwd=root, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.fixture
def root():
    return campaign.ROOT


@pytest.fixture
def toy(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "work").mkdir()
    (folder / "toy.py").write_text(SOURCE)
    (folder / "test_toy.py").write_text(TESTS)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def test_what_a_test_notices_is_killed_and_the_rest_is_told(toy, root):
    verdicts = run(toy, root)
    assert verdicts == {
        "toy.py:: constant: True -> False": "survived",
        "toy.py::least bound: a < b -> (a <= b)": "survived",  # says the same of all numbers
        "toy.py::least statement: return a if a < b else b -> return None": "killed",  # in a process of the test's own
        "toy.py::waits constant: 0 -> 1": "overran",
        "toy.py::unasked logic: not a -> (a)": "untested",
        "toy.py::unasked statement: return not a -> return None": "untested",
    }
    kept = (toy.parent / "work" / "found.jsonl").read_text()
    assert (toy / "toy.py").read_text() == SOURCE
    (toy / "test_toy.py").write_text(TESTS + "\n\ndef test_limits():\n    assert toy.LIMITS['é']\n")
    again = run(toy, root)
    assert {key for key, verdict in again.items() if verdict != verdicts[key]} == {next(iter(sorted(verdicts)))}
    new = [
        json.loads(line)["key"] for line in (toy.parent / "work" / "found.jsonl").read_text()[len(kept) :].splitlines()
    ]
    assert set(new) == {key for key, verdict in verdicts.items() if verdict in {"survived", "untested"}}


def test_tests_that_fail_anyway_judge_nothing(toy, root):
    (toy / "test_toy.py").write_text("def test():\n    assert False\n")
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(toy)], cwd=root, capture_output=True, text=True, check=False
    )
    assert "all tests fail without a mutant" in done.stderr


@pytest.mark.parametrize(
    ("change", "source", "changed"),
    [
        ("bound", "x = 1 <= y", {"x = (1 < y)"}),
        ("bound", "x = a in b", {"x = (a not in b)"}),
        ("logic", "x = a and b", {"x = (a or b)", "x = (a)", "x = (b)"}),
        ("logic", "x = not a", {"x = (a)"}),
        ("arithmetic", "x = é + 1", {"x = (é - 1)"}),
        ("constant", "x = True, 2, 'a', None", {"x = False, 2, 'a', None", "x = True, 3, 'a', None"}),
        ("text", "x = a == 'é'", {"x = a == 'é~'"}),
        ("member", "x = {'é': 1}, {a, b}", {"x = {'é': 1}, {b}", "x = {'é': 1}, {a}"}),
        ("caught", "try: a\nexcept (A, B): b", {"try: a\nexcept ((B,)): b", "try: a\nexcept ((A,)): b"}),
        ("call", "x = min(a, b)", {"x = max(a, b)"}),
        ("call", "x = a.startswith(b)", {"x = a.endswith(b)"}),
        ("guard", "if a:\n    raise E", {"if ((a) and False):\n    raise E"}),
        ("guard", "x = [a for a in b if c]", {"x = [a for a in b if ((c) or True)]"}),
        ("statement", "f(a)", {"pass"}),
        ("statement", "if a:\n    raise E('b')", {"if a:\n    pass"}),
    ],
)
def test_each_mutation_changes_what_it_names_and_nothing_else(change, source, changed):
    found = [one for one in mutants("toy.py", source.encode()) if one.change == change]
    assert {one.applied(source.encode()).decode() for one in found} == changed
    assert change in MUTATIONS


def test_every_mutant_has_a_name_of_its_own_and_most_are_one(root):
    source = (root / "pitlake/clock.py").read_bytes()
    found = mutants("pitlake/clock.py", source)
    assert len({one.key for one in found}) == len(found) > 40
    for one in found:
        assert not is_one(one, source) or ast.parse(one.applied(source))


def test_more_mutants_are_the_same_ones_and_others(root):
    areas = {"clock": AREAS["clock"], "receipts": AREAS["receipts"]}
    few, many = (list(campaign.drawn(root, areas, n, 3)) for n in (6, 10))
    assert few == many[:6]
    assert {name for name, _ in few} == areas.keys()
    assert list(campaign.drawn(root, areas, 6, 4)) != few


@pytest.mark.parametrize("name", AREAS)
def test_every_area_has_files_and_tests(root, name):
    area: Area = AREAS[name]
    assert area.sources(root)
    assert area.test_files(root)
    assert area.elsewhere <= set(area.sources(root))


def test_what_was_reviewed_is_still_in_the_code_and_has_a_reason(root):
    known = campaign.reviewed()
    files = {key.split("::")[0] for key in known}
    there = {one.key for file in files for one in mutants(file, (root / file).read_bytes())}
    assert set(known) <= there
    assert [key for key, reason in known.items() if len(reason) < 10] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount over what others see")
def test_what_a_planted_fault_mounts_or_signals_stays_with_it(tmp_path):
    fault = f"mount -t tmpfs none {tmp_path} && touch {tmp_path}/there && ls {tmp_path} && echo $$"
    told = subprocess.run([*apart(), "sh", "-c", fault], capture_output=True, text=True, check=True)
    assert told.stdout == "there\n1\n"
    assert list(tmp_path.iterdir()) == []
