"""Runs the tests that execute a mutant's statement, the likeliest first, until one fails. The fast lane runs before the
long lane.
"""

import ast
import resource
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.lanes import cpu_seconds
from tests.mutants.areas import ANY, Area
from tests.mutants.bench import Bench
from tests.mutants.operators import Mutant
from tests.mutants.tracing import Brief, Traces, arguments

SURVIVED, KILLED, OVERRAN, UNTESTED = "survived", "killed", "overran", "untested"
GRACE = 10
"""CPU seconds that a test may take beyond three times its time without a mutant."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict on a mutant. by: the test that noticed it. left_out: how many tests did not fit into the time."""

    verdict: str
    by: str = ""
    cpu: float = 0.0
    left_out: int = 0


def statement_lines(mutant: Mutant, source: bytes) -> range:
    """Return the lines of the innermost statement that a mutant changes, without its body."""
    line = source.count(b"\n", 0, mutant.start) + 1
    nodes = ast.walk(ast.parse(source))
    headers = [_header(node) for node in nodes if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case)]
    return max((lines for lines in headers if line in lines), key=lambda lines: lines.start)


def _header(node: Any) -> range:
    body = getattr(node, "body", None)
    first = node.pattern.lineno if isinstance(node, ast.match_case) else node.lineno
    if decorators := getattr(node, "decorator_list", None):
        first = decorators[0].lineno
    last = body[0].lineno - 1 if body else node.end_lineno
    return range(first, max(first, last) + 1)


def ranked(area: Area, mutant: Mutant, source: bytes, traces: Traces, kills: Counter[str]) -> list[str]:
    """Return the tests that may notice a mutant, of any area: first those that run its statement, then those whose
    fixtures run it, then those that run anything in its file. For code that runs in separate processes, tests that
    run anything in the file that starts these processes are added.

    Each group is ordered by file: most `kills` of the source first, then files named after it, then the cheapest.
    """
    direct, indirect, at_import = traces.running(mutant.path, statement_lines(mutant, source))
    # A test that uses a cached result does not run the statement.
    groups = [direct, indirect, *traces.running(mutant.path)[:2]]
    through = area.through.get(mutant.path)
    if through and through != ANY:
        groups += traces.running(through)[:2]
    if through == ANY or (at_import and not any(groups)):
        groups.append(traces.passing())
    places: dict[str, int] = {}
    for place, group in enumerate(groups):
        for test in group:
            places.setdefault(test, place)
    files = {test: test.partition("::")[0] for test in places}
    costs = {test: traces.cost(test, set()) for test in places}
    cheapest: dict[str, float] = {}
    for test, file in files.items():
        cheapest[file] = min(costs[test], cheapest.get(file, costs[test]))

    def rank(test: str) -> tuple[object, ...]:
        file = files[test]
        return places[test], -kills[file], not has_its_name(file, mutant), cheapest[file], file, costs[test]

    return sorted(places, key=rank)


def has_its_name(file: str, mutant: Mutant) -> bool:
    """Return whether a test file is named after the file that a mutant changes."""
    return not set(Path(mutant.path).stem.split("_")).isdisjoint(Path(file).stem.split("_")[1:])


def fitting(tests: list[str], traces: Traces, seconds: float) -> dict[str, float]:
    """Return the tests that fit into the remaining CPU seconds, with the cost of each. Tests are added in order; a test
    that does not fit is skipped.
    """
    costs: dict[str, float] = {}
    built: set[str] = set()
    for test in tests:
        cost = traces.cost(test, built)
        if sum(costs.values()) + cost <= seconds:
            costs[test] = cost
            built.update(traces.fixtures(test))
    return costs


def judge(bench: Bench, mutant: Mutant, tests: dict[str, float], grace: int = GRACE) -> Verdict:
    """Run tests with these costs on a mutant until one fails."""
    last = bench.folder / "last.txt"
    last.write_text("its import")
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))

    def first_failure() -> int:
        return pytest.main([*arguments(bench.folder), "-x", *files], plugins=[_Ordered(tests, last, grace)])

    ended = bench.changed(mutant, first_failure, wall=120 + 10 * sum(tests.values()))
    cpu = round(ended.cpu, 2)
    if ended.code == 0:
        return Verdict(SURVIVED, "", cpu)
    return Verdict(OVERRAN if ended.code is None else KILLED, last.read_text(), cpu)


class _Ordered(Brief):
    """A plugin that runs only these tests, in this order, records the last one, and ends the process if a test takes
    far longer than without a mutant.
    """

    def __init__(self, costs: dict[str, float], last: Path, grace: int) -> None:
        self._costs, self._last, self._grace = costs, last, grace

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        by_name = {str(item.nodeid): item for item in items}
        items[:] = [by_name[test] for test in self._costs if test in by_name]
        for item in items:
            item.add_marker(pytest.mark.timeout(60 + 10 * self._costs[str(item.nodeid)]), append=False)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        test = str(item.nodeid)
        self._last.write_text(test)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        most = int(cpu_seconds(running=False) + self._grace + 3 * self._costs[test])
        resource.setrlimit(resource.RLIMIT_CPU, (most, hard))
