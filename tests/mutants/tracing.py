"""The lines of the project that each test runs, and the cost of each test. Both are measured once with coverage.py, and
again only for tests whose file, helpers or lines have changed.

Lines that a fixture of wider scope runs count for every test that uses the fixture, not only for the first one.
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import coverage
import pytest

from tests.lanes import cpu_seconds
from tests.mutants.bench import Bench, Broken, digest

ARGUMENTS = ("-q", "-m", "", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly", "-p",
             "no:langsmith_plugin", "--hypothesis-seed=0",
             "-W", "ignore::pytest.PytestAssertRewriteWarning")  # fmt: skip
IMPORTING = ""
HANGS = 600
"""The wall time in seconds after which a test counts as hanging."""


def arguments(folder: Path) -> list[str]:
    """Return the pytest arguments of every run."""
    return [*ARGUMENTS, f"--basetemp={folder / 'tmp'}"]


class Brief:
    """A plugin that ends the process with pytest's session, because otherwise pytest would twice collect the garbage of
    all imported modules.
    """

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Any:
        yield
        self.finish()
        sys.stdout.flush()
        # A mutated parameter may rename all tests.
        os._exit(0 if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED else int(exitstatus))

    def finish(self) -> None:
        """Write the results."""


def collected(bench: Bench, files: list[str]) -> dict[str, bool]:
    """Return the tests of these files, mapped to whether they are in the long lane. Raises Broken."""
    to = bench.folder / "collected.json"
    to.unlink(missing_ok=True)
    bench.forked(
        lambda: pytest.main([*arguments(bench.folder), "--collect-only", *files], plugins=[_Lister(to)]), HANGS
    )
    if not to.exists():
        raise Broken(f"the tests can't be collected; see {bench.folder / 'last.log'}")
    return json.loads(to.read_text())


class _Lister(Brief):
    def __init__(self, to: Path) -> None:
        self._to = to

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        lanes = {str(item.nodeid): item.get_closest_marker("long") is not None for item in session.items}
        self._to.write_text(json.dumps(lanes))


@dataclass(frozen=True, slots=True)
class Part:
    """The trace of tests of one file.

    costs: the CPU seconds of each test and fixture, and of the import, without the fixtures in use.
    uses: the fixtures of wider scope that each test uses. failed: the tests that fail without a mutant.
    read: the files that decide whether the trace is still valid.
    """

    costs: dict[str, float]
    uses: dict[str, list[str]]
    failed: list[str]
    read: list[str]
    digest: str


@dataclass
class Traces:
    """The traces in a bench's folder that still match its source tree."""

    bench: Bench
    _parts: dict[Path, Part] = field(default_factory=dict)
    _by_test: dict[str, Part] = field(default_factory=dict)
    _lines: dict[str, dict[int, set[str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._folder = self.bench.folder / "traces"
        self._folder.mkdir(exist_ok=True)
        for path in self._folder.glob("*.json"):
            part = Part(**json.loads(path.read_text()))
            if part.digest == digest(self.bench.tree, part.read):
                self._add(path, part)

    def _add(self, path: Path, part: Part) -> None:
        self._parts[path] = part
        self._by_test |= dict.fromkeys(part.uses, part)
        self._lines.clear()

    def measure(self, tests: Iterable[str]) -> None:
        """Trace the tests that have no trace. Raises Broken if all tests fail."""
        missing = defaultdict(list)
        for test in set(tests).difference(self._by_test):
            missing[test.partition("::")[0]].append(test)
        for number, (name, among) in enumerate(sorted(missing.items()), 1):
            print(f"tracing {number} of {len(missing)}: {len(among)} tests of {name}", file=sys.stderr)
            self._trace(name, sorted(among))
        if tests and not any(set(part.uses).difference(part.failed) for part in self._parts.values()):
            raise Broken(f"all tests fail without a mutant; see {self.bench.folder / 'last.log'}")

    def _trace(self, name: str, tests: list[str]) -> None:
        path = self._folder / f"{sha256(json.dumps(tests).encode()).hexdigest()[:16]}.json"
        path.unlink(missing_ok=True)
        path.with_suffix(".lines").unlink(missing_ok=True)
        run = arguments(self.bench.folder)
        self.bench.forked(
            lambda: pytest.main([*run, name], plugins=[_Tracer(self.bench.tree, name, tests, path)]), HANGS * 6
        )
        if not path.exists():
            raise Broken(f"{name} can't be traced; see {self.bench.folder / 'last.log'}")
        part = Part(**json.loads(path.read_text()))
        self._add(path, part)
        for test in part.failed:
            print(f"left out, because it fails without a mutant: {test}", file=sys.stderr)

    def cost(self, test: str, built: set[str]) -> float:
        """Return the CPU seconds of a test, including its fixtures that are not built yet."""
        costs = self._by_test[test].costs
        return costs[test] + sum(costs.get(name, 0.0) for name in self.fixtures(test) if name not in built)

    def fixtures(self, test: str) -> list[str]:
        """Return the fixtures of wider scope that a test uses."""
        return self._by_test[test].uses[test]

    def passing(self) -> set[str]:
        """Return all tests that pass without a mutant."""
        return set().union(*(part.uses.keys() - part.failed for part in self._parts.values()))

    def running(self, source: str, lines: range | None = None) -> tuple[set[str], set[str], bool]:
        """Return the tests that run any of these lines, the tests whose fixtures run them, and whether the lines run at
        import. By default, lines are all those that do not run at import.
        """
        by_line = self._contexts(source)
        contexts = set().union(*(by_line.get(line, ()) for line in lines or by_line))
        direct: set[str] = set()
        indirect: set[str] = set()
        for part in self._parts.values():
            passed = part.uses.keys() - part.failed
            direct |= contexts & passed
            indirect |= {test for test in passed if not contexts.isdisjoint(part.uses[test])}
        return direct, indirect - direct, IMPORTING in contexts

    def _contexts(self, source: str) -> dict[int, set[str]]:
        if source not in self._lines:
            by_line: dict[int, set[str]] = defaultdict(set)
            # If no trace read the file, it is only imported, which any trace can show.
            paths = [path for path, part in self._parts.items() if source in part.read] or self._parts
            for path in paths:
                data = coverage.CoverageData(str(path.with_suffix(".lines")))
                data.read()
                for line, contexts in data.contexts_by_lineno(str(self.bench.tree / source)).items():
                    by_line[line].update(contexts)
                data.close()
            self._lines[source] = by_line
        return self._lines[source]


class _Tracer(Brief):
    """A plugin that passes the running test or fixture to coverage.py, and measures its CPU time."""

    def __init__(self, tree: Path, name: str, tests: list[str], to: Path) -> None:
        self._tree, self._name, self._tests, self._to = tree, name, set(tests), to
        self._lines = coverage.Coverage(
            str(to.with_suffix(".lines")), config_file=False, include=[f"{tree}/*"], omit=[f"{tree}/tests/*", name]
        )
        self._lines.set_option("run:core", "ctrace")  # The only core that knows which test runs.
        self._lines.set_option("run:disable_warnings", ["no-data-collected"])
        self._context, self._since = IMPORTING, cpu_seconds(running=True)
        self._costs: dict[str, float] = defaultdict(float)
        self._uses: dict[str, list[str]] = {}
        self._failed: set[str] = set()
        self._lines.start()

    def finish(self) -> None:
        """Write the trace."""
        self._lines.stop()
        self._lines.save()
        part = Part(dict(self._costs), self._uses, sorted(self._failed), read := self._read(), digest(self._tree, read))
        partial = self._to.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(part)))
        partial.rename(self._to)

    def _read(self) -> list[str]:
        """Return the files that decide whether the trace is valid: tests, their helpers and the code they run."""
        modules = (getattr(module, "__file__", None) or "" for module in list(sys.modules.values()))
        data = self._lines.get_data()
        ran = (
            file for file in data.measured_files() if set().union(*data.contexts_by_lineno(file).values()) - {IMPORTING}
        )
        ours = [*ran, *(file for file in modules if file.startswith(f"{self._tree}/tests/"))]
        return sorted({self._name, *(str(Path(file).relative_to(self._tree)) for file in ours)})

    @contextmanager
    def _within(self, context: str) -> Iterator[None]:
        outer = self._context
        self._enter(context)
        try:
            yield
        finally:
            self._enter(outer)

    def _enter(self, context: str) -> None:
        now = cpu_seconds(running=True)
        # The seconds of a child that ends unreaped are lost.
        self._costs[self._context] += max(0.0, now - self._since)
        self._context, self._since = context, now
        self._lines.switch_context(context)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if str(item.nodeid) in self._tests]
        for item in items:
            item.add_marker(pytest.mark.timeout(HANGS), append=False)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self._uses[str(item.nodeid)] = []
        with self._within(str(item.nodeid)):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: Any) -> Any:
        try:
            return (yield)
        finally:
            wider = (each for each in item._request._fixture_defs.values() if each.scope != "function")
            self._uses[str(item.nodeid)] = [_name(each, each.cached_result[1]) for each in wider if each.cached_result]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Any:
        if fixturedef.scope == "function":
            return (yield)
        with self._within(_name(fixturedef, fixturedef.cache_key(request))):
            return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(str(report.nodeid))


def _name(fixture: Any, parameter: object) -> str:
    return f"{fixture.baseid}::{fixture.argname}[{parameter}]"
