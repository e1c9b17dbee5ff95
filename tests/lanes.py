"""Two lanes of tests, chosen by the cost of each test: `make test` runs the exemplars and the tests that cost at most
0.4 units, and `make long` runs all others.

`make timings` measures every test and writes `slow.json`, which decides. A unit is the CPU time of `reference()`, about
a second, so that fast and slow machines agree. The cost of a test is its own CPU time, including child processes, plus
an equal share of the fixtures of wider scope that it uses. A test with a fixture of more than FIXTURE_LIMIT is slow.
`exemplars.toml` names the slow tests that stay in `make test`, each with the guarantee that it proves. Tests marked
`long` by hand are never measured.
"""

import hashlib
import json
import os
import random
import resource
import statistics
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pytest
from _pytest.nodeid import NodeId

LIMIT = 0.4
FIXTURE_LIMIT = 5.0
DEAR = 1.0
"""The CPU seconds above which a run reports a test."""
BY_HAND = 5.0
"""The assumed cost, in units, of a test marked `long` by hand when files are sorted."""
ROOT = Path(__file__).resolve().parents[1]
SLOW, EXEMPLARS = ROOT / "tests/slow.json", ROOT / "tests/exemplars.toml"
MEASURED = ROOT / ".pitlake/timings"
FAST_LANE = "not long"


def reference() -> float:
    """Return the CPU seconds of a fixed piece of work that resembles the tests: Python, hashes and DuckDB."""
    import duckdb

    began = time.process_time()
    for _ in range(7):
        text = json.dumps([{"key": f"key {number}", "value": number * 0.5} for number in range(40_000)])
        hashlib.sha256(text.encode()).hexdigest()
        json.loads(text)
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.execute("SELECT sum(hash(i) % 7), count(DISTINCT i % 100_003) FROM range(1_500_000) t(i)")
            connection.fetchall()
    return time.process_time() - began


def cpu_seconds(running: bool) -> float:
    """Return the CPU seconds of this process and its ended children. With `running`, include running descendants, which
    takes some milliseconds.
    """
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    total = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    for child in psutil.Process().children(recursive=True) if running else ():
        with suppress(psutil.Error):
            times = child.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


@cache
def slow() -> dict[str, float]:
    """Return the costs of the slow tests in units, and of files whose tests are all slow."""
    return json.loads(SLOW.read_text())


@cache
def exemplars() -> dict[str, str]:
    """Return the guarantee that each exemplar proves, by the id of the test."""
    return {test: guarantee for guarantee, test in tomllib.loads(EXEMPLARS.read_text()).items()}


def is_slow(test: str) -> bool:
    """Return whether the record sends a test to the long lane."""
    return test not in exemplars() and (test in slow() or test.partition("::")[0] in slow())


class Costs:
    """A plugin that measures the tests of one process and, separately, their fixtures of wider scope.

    to: a folder for exact measurements; each file begins with the reference. Without it only costly tests are
    recorded.
    """

    def __init__(self, to: Path | None) -> None:
        self.dear: list[str] = []
        self._apart = 0.0
        self._file = None
        if to:
            to.mkdir(parents=True, exist_ok=True)
            self._file = (to / f"{os.getpid()}.jsonl").open("a")
            self._write({"reference": statistics.median(reference() for _ in range(3))})

    def _write(self, record: dict[str, Any]) -> None:
        if self._file:
            self._file.write(json.dumps(record) + "\n")
            self._file.flush()

    @contextmanager
    def _measured(self) -> Iterator[list[float]]:
        """Measure a block without the fixtures that are set up in it."""
        running = self._file is not None
        began, outer, self._apart = cpu_seconds(running), self._apart, 0.0
        cost: list[float] = []
        try:
            yield cost
        finally:
            cost.append(round(max(0.0, cpu_seconds(running) - began - self._apart), 4))
            self._apart = outer

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        with self._measured() as cost:
            item.fixture_keys = set()
            result = yield
        test = item.test_id
        self._write({"test": test, "cost": cost[0], "fixtures": sorted(item.fixture_keys)})
        if cost[0] > DEAR and item.get_closest_marker("long") is None and test not in exemplars():
            self.dear.append(f"{cost[0]:.1f} s  {test}")
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item):
        try:
            return (yield)
        finally:
            for definition in item._request._fixture_defs.values():
                if definition.scope != "function" and definition.cached_result is not None:
                    item.fixture_keys.add(_key(definition, definition.cached_result[1]))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef, request):
        if fixturedef.scope == "function":
            return (yield)
        before = self._apart
        with self._measured() as cost:
            result = yield
        self._apart = before + cost[0]
        self._write({"fixture": _key(fixturedef, fixturedef.cache_key(request)), "cost": cost[0]})
        return result


def _key(definition: Any, parameter: object) -> str:
    return f"{definition.baseid}::{definition.argname}[{parameter}]"


class Lanes:
    """A plugin that sorts the collected tests into lanes, and reports how many were left out and which are costly."""

    def __init__(self, config: pytest.Config, costs: Costs) -> None:
        self._config, self._costs = config, costs
        self._left, self._dear = 0, []

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """Skip the import of a file whose tests are all slow, unless the command names the file."""
        if config.option.markexpr != FAST_LANE or collection_path.suffix != ".py":
            return None
        name = collection_path.relative_to(ROOT).as_posix()
        names = any(str(argument).partition("::")[0].endswith(collection_path.name) for argument in config.args)
        return True if name in slow() and not names and not any(test.startswith(name) for test in exemplars()) else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        numbers: dict[str, int] = defaultdict(int)
        for item in items:
            item.test_id = item.nodeid  # before the group is added to the name
            if mark := item.get_closest_marker("sampled"):
                function = item.test_id.partition("[")[0]
                if numbers[function] % mark.args[0]:
                    item.add_marker(pytest.mark.long)
                numbers[function] += 1
            if is_slow(item.test_id):
                item.add_marker(pytest.mark.long)
                item.add_marker(pytest.mark.slow)
        if seed := os.environ.get("PITLAKE_ORDER"):
            random.Random(seed).shuffle(items)
        elif _is_worker():
            # The costliest files come first, so that no process gets a long file at the end.
            files: dict[str, float] = defaultdict(float)
            for item in items:
                files[_file(item)] += slow().get(item.test_id, BY_HAND if item.get_closest_marker("long") else 0.02)
            items.sort(key=lambda item: -files[_file(item)])
        if _is_worker():
            _name_groups(items)

    def pytest_deselected(self, items: Iterable[pytest.Item]) -> None:
        self._left += sum(item.get_closest_marker("long") is not None for item in items)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if _is_worker():
            self._config.workeroutput["lanes"] = [self._left, self._costs.dear]
        else:
            self._dear += self._costs.dear

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        left, dear = getattr(node, "workeroutput", {}).get("lanes", (0, []))
        self._left = max(self._left, left)
        self._dear += dear

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._dear:
            terminalreporter.section(f"tests of more than {DEAR:g} CPU second that are not in tests/slow.json")
            terminalreporter.write_line("\n".join(sorted(self._dear, reverse=True)))
            terminalreporter.write_line("`make timings` measures them and sends those that stay dear to `make long`.")
        if self._config.option.markexpr == FAST_LANE:
            whole = sum("::" not in name for name in slow())
            terminalreporter.write_line(
                f"Left to `make long` (or to -m long): {self._left} tests of these files and {whole} files."
            )


def _file(item: pytest.Item) -> str:
    return str(item.test_id).partition("::")[0]


def _is_worker() -> bool:
    return "PYTEST_XDIST_WORKER" in os.environ


def _name_groups(items: list[pytest.Item]) -> None:
    """Add the group or file of each test to its name. `--dist loadgroup` gives each group to one process, so that its
    fixtures are set up once. The names that pytest-xdist 3.8 sets itself are not visible to pytest 9.2.
    """
    for item in items:
        groups = sorted({mark.args[0] for mark in item.iter_markers("xdist_group")})
        item._id = NodeId.parse(f"{item.nodeid}@{groups[-1] if groups else _file(item)}")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        os.environ.pop("PYTEST_XDIST_WORKER", None)  # Inherited by a pytest that a test starts, which is no worker.
    exact = "PITLAKE_TIMINGS" in os.environ and (_is_worker() or not config.getoption("numprocesses", None))
    costs = Costs(MEASURED if exact else None)
    config.pluginmanager.register(costs)
    config.pluginmanager.register(Lanes(config, costs))


def record(folder: Path = MEASURED) -> dict[str, float]:
    """Return the slow tests according to the measurements in a folder, in the format of `slow.json`."""
    own: dict[str, float] = {}
    uses: dict[str, list[str]] = {}
    fixtures: dict[str, list[float]] = defaultdict(list)
    for path in folder.glob("*.jsonl"):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        unit = statistics.median(entry["reference"] for entry in records if "reference" in entry)
        for entry in records:
            if "test" in entry:
                own[entry["test"]] = entry["cost"] / unit
                uses[entry["test"]] = entry["fixtures"]
            elif "fixture" in entry:
                fixtures[entry["fixture"]].append(entry["cost"] / unit)
    costs, fast = _shared_out(own, uses, {name: max(values) for name, values in fixtures.items()})
    files: dict[str, set[str]] = defaultdict(set)
    for test in costs:
        files[test.partition("::")[0]].add(test)
    result: dict[str, float] = {}
    for name, tests in files.items():
        if tests & fast:
            result |= {test: round(costs[test], 1) for test in tests - fast}
        else:
            result[name] = round(sum(costs[test] for test in tests), 1)
    return dict(sorted(result.items()))


def _shared_out(
    own: dict[str, float], uses: dict[str, list[str]], fixtures: dict[str, float]
) -> tuple[dict[str, float], set[str]]:
    """Return the cost of each test including its share of the fixtures, and the tests that stay in the fast lane. The
    share grows as other tests leave that lane.
    """
    fast = {
        test
        for test in own
        if test in exemplars() or max((fixtures.get(name, 0) for name in uses[test]), default=0) <= FIXTURE_LIMIT
    }
    while True:
        users: dict[str, int] = defaultdict(int)
        for test in fast:
            for name in uses[test]:
                users[name] += 1
        costs = {
            test: cost + sum(fixtures.get(name, 0) / max(1, users[name]) for name in uses[test])
            for test, cost in own.items()
        }
        leaving = {test for test in fast if costs[test] > LIMIT and test not in exemplars()}
        if not leaving:
            return costs, fast
        fast -= leaving


if __name__ == "__main__":
    SLOW.write_text(json.dumps(record(), indent=0, ensure_ascii=False) + "\n")
