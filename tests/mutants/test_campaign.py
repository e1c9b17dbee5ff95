"""The mutation campaign kills the mutants that a test notices, compares the lanes, and continues where it stopped."""

import ast
import json
import os
import subprocess
from collections import Counter
from dataclasses import asdict

import pytest

from tests.mutants import campaign
from tests.mutants.areas import ANY, AREAS, Area
from tests.mutants.bench import Bench, Broken, apart, digest
from tests.mutants.campaign import Campaign, Record, report
from tests.mutants.operators import MUTATIONS, is_one, mutants
from tests.mutants.running import judge, statement_lines
from tests.mutants.tracing import Traces, collected

SOURCE = """def rare(n):
    return not n
"""
TESTS = """import pytest, toy

@pytest.fixture(scope="module")
def result():
    return toy.rare(6)

def test_the_fixture(result):
    pass

def test_result(result):
    pass

def test_it_runs():
    toy.rare(6)

@pytest.mark.long
def test_what_it_returns():
    assert toy.rare(6) is False
"""
FAST, LONG = "test_toy.py::test_it_runs", "test_toy.py::test_what_it_returns"


def run(toy, **options):
    """Run one mutant of the toy project, and return its verdict."""
    areas = {"toy": Area(("toy.py",), ("test_*.py",))}
    ran = Campaign(Bench(toy, toy.parent / "work"), areas, **options).run(list(campaign.drawn(toy, areas, 1, 0)))
    return [record for _, record in ran]


@pytest.fixture
def root():
    return campaign.ROOT


@pytest.fixture
def toy(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "work").mkdir()
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = long: of the long lane\n")
    (folder / "toy.py").write_text(SOURCE)
    (folder / "test_toy.py").write_text(TESTS)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize(
    ("fast", "long", "verdict"),
    [
        pytest.param(60, 60, ("killed", "long", LONG), marks=pytest.mark.long),
        (0, 60, ("killed", "long", LONG)),
        (60, 0, ("survived", "", "")),
    ],
    ids=["both lanes", "the long lane", "the fast lane"],
)
def test_a_mutant_caught_only_by_a_long_test_survives_the_fast_lane(toy, fast, long, verdict):
    [record] = run(toy, fast=fast, long=long)
    assert (record.verdict, record.lane, record.by) == verdict
    assert (toy / "toy.py").read_text() == SOURCE


@pytest.mark.parametrize(
    ("by", "lane", "remaining"),
    [(FAST, "fast", True), (LONG, "long", False), ("", "", False)],
    ids=["fast", "long", "none"],
)
def test_a_mutant_killed_by_a_fast_test_is_not_judged_again(toy, by, lane, remaining):
    """Any other mutant may have a fast test by now."""
    (toy / "test_toy.py").write_text("import toy\n\ndef test_it_runs():\n    assert toy.rare(6) is False\n")
    [mutant] = [mutant for _, mutant in campaign.drawn(toy, {"toy": Area(("toy.py",), ())}, 1, 0)]
    before = Record(mutant.key, "toy", digest(toy, ["toy.py"]), "other tests", "killed", by, lane, 9.0)
    (toy.parent / "work" / "verdicts.jsonl").write_text(json.dumps(asdict(before)))
    [record] = run(toy)
    assert (record == before) is remaining
    assert (record.verdict, record.lane, record.by) == ("killed", "fast", FAST)


def test_lines_of_a_fixture_count_for_every_test_that_uses_it(toy):
    bench = Bench(toy, toy.parent / "work")
    traces = Traces(bench)
    traces.measure(tests := collected(bench, ["test_toy.py"]))
    assert tests[LONG]
    assert traces.running("toy.py", range(2, 3)) == (
        {FAST, LONG}, {"test_toy.py::test_the_fixture", "test_toy.py::test_result"}, False
    )  # fmt: skip
    assert traces.running("toy.py", range(1, 2)) == (set(), set(), True)


@pytest.mark.long
def test_a_mutant_that_never_ends_is_judged_as_overran(toy):
    (toy / "toy.py").write_text("def rare(n):\n    while n:\n        n = 0\n    return not n\n")
    bench = Bench(toy, toy.parent / "work")
    [endless] = [each for each in mutants("toy.py", (toy / "toy.py").read_bytes()) if each.change == "constant"]
    verdict = judge(bench, endless, {FAST: 0.0}, grace=1)
    assert (verdict.verdict, verdict.by) == ("overran", FAST)


def test_tests_that_fail_without_a_mutant_stop_the_campaign(toy):
    (toy / "test_toy.py").write_text("def test():\n    assert False\n")
    with pytest.raises(Broken, match="all tests fail without a mutant"):
        run(toy)


def test_a_mutant_belongs_to_its_statement_without_the_body():
    source = b"""def f(a, b=1):
    if (a and
            b < 2):
        return a
    try:
        a()
    except (KeyError,
            ValueError):
        a = [b,
             2]
"""
    result = {(mutant.change, mutant.new): statement_lines(mutant, source) for mutant in mutants("toy.py", source)}
    assert result["bound", "(b <= 2)"] == range(2, 4)
    assert result["constant", "2"] == range(1, 2)
    assert result["statement", "return None"] == range(4, 5)
    assert result["statement", "pass"] == range(6, 7)
    assert result["caught", "((KeyError,))"] == range(7, 9)
    assert result["member", "[b]"] == range(9, 11)


def test_the_report_names_mutants_caught_only_by_long_tests():
    def of(key, area, verdict, by="", lane="", left_out=0):
        return Record(key, area, "", "", verdict, by, lane, 2.0, left_out)

    records = [
        of("a", "gate", "killed", "test_a", "fast"), of("b", "gate", "overran", "test_a", "fast"),
        of("c", "gate", "survived"), of("d", "cut", "killed", "test_d", "long", 3), of("e", "cut", "untested"),
        of("f", "cut", "equivalent"),
    ]  # fmt: skip
    assert list(report(records)) == [
        "gate: 3 mutants, 2 killed by fast tests, 0 only by long ones, 1 survived all, 0 run by no test, 0 equivalent",
        "cut: 3 mutants, 0 killed by fast tests, 1 only by long ones, 0 survived all, 1 run by no test, 1 equivalent",
        "2.0 CPU seconds a mutant; of 1 that a lane let pass some tests were left out for lack of time",
        "missed by the fast lane, cut: d, noticed by test_d",
        "fast lane catches 2 of 3 that all tests catch (66.7 %)",
    ]


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
    result = [mutant for mutant in mutants("toy.py", source.encode()) if mutant.change == change]
    assert {each.applied(source.encode()).decode() for each in result} == changed
    assert change in MUTATIONS


def test_every_mutant_has_a_unique_key_and_valid_syntax(root):
    source = (root / "pitlake/clock.py").read_bytes()
    result = mutants("pitlake/clock.py", source)
    assert len({each.key for each in result}) == len(result) > 40
    for item in result:
        assert not is_one(item, source) or ast.parse(item.applied(source))


def test_a_larger_draw_of_mutants_extends_a_smaller_draw(root):
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
    assert area.through.keys() <= set(area.sources(root))
    assert {file for file in area.through.values() if file != ANY and not (root / file).is_file()} == set()


def test_every_file_of_the_guarantee_is_in_one_area(root):
    owners = Counter(file for area in AREAS.values() for file in area.sources(root))
    folders = ("pitlake/gate", "pitlake/session", "pitlake/lake", "pitlake/proxy", "pitlake/studies", "pipelines/sync",
               "forge/tracking", "resources/http")  # fmt: skip
    files = {path for folder in folders for path in (root / folder).rglob("*.py") if path.name != "__init__.py"}
    assert {str(path.relative_to(root)) for path in files} <= owners.keys()
    assert {file for file, number in owners.items() if number > 1} == set()


def test_every_reviewed_mutant_is_still_in_the_code_and_has_a_reason(root):
    existing = campaign.reviewed()
    files = {key.split("::")[0] for key in existing}
    there = {mutant.key for file in files for mutant in mutants(file, (root / file).read_bytes())}
    assert set(existing) <= there
    assert [key for key, reason in existing.items() if len(reason) < 10] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount over what others see")
def test_mounts_and_processes_of_a_planted_fault_stay_isolated(tmp_path):
    fault = f"mount -t tmpfs none {tmp_path} && touch {tmp_path}/there && ls {tmp_path} && echo $$"
    reply = subprocess.run([*apart(), "sh", "-c", fault], capture_output=True, text=True, check=True)
    assert reply.stdout == "there\n1\n"
    assert list(tmp_path.iterdir()) == []
