"""Runs an area's tests in forks of this process, on a copy of the tree: once to see which test runs which function,
then for each mutant those that run its own, the quickest first, until one fails.

This process imports what the tests need of others, and nothing of ours, so that each fork meets the changed file.
"""

import ctypes
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from contextlib import suppress
from importlib import import_module
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.mutants.areas import Area
from tests.mutants.operators import Mutant

OTHERS = ("hypothesis", "pandas", "pyarrow.parquet", "pyarrow.dataset", "duckdb", "deltalake", "requests", "mcp",
          "exchange_calendars", "dagster", "neo4j", "obstore", "psutil", "tenacity",
          "anyio.pytest_plugin", "_hypothesis_pytestplugin", "pytest_timeout")  # fmt: skip
SURVIVED, KILLED, OVERRAN, UNTESTED = "survived", "killed", "overran", "untested"
_ARGUMENTS = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly", "--hypothesis-seed=0", "-W",
              "ignore::pytest.PytestAssertRewriteWarning")  # fmt: skip
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 16384, 1 << 18
IMPORTING = ""

Tested = dict[str, tuple[float, dict[str, list[str]]]]
"""Of each test its seconds and the functions it runs of each file, and of their import (IMPORTING)."""


class Broken(Exception):
    """The tests can't be run, or all fail, without any mutant."""


def digest(root: Path, files: list[str]) -> str:
    """Of what is in these files."""
    return hashlib.sha256(b"".join(hashlib.sha256((root / name).read_bytes()).digest() for name in files)).hexdigest()


def apart() -> list[str]:
    """What to put before a command so that it has mounts and processes of its own, which root needs: a fault planted
    in the seal would mount over this machine's folders, or signal its processes. Raises Broken without unshare.
    """
    if os.geteuid() != 0:
        return []
    if shutil.which("unshare") is None:
        raise Broken("run as another user, or install util-linux: as root a planted fault could reach this machine")
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


class Bench:
    """A copy of a project's tree, on which its tests run with one file changed at a time.

    grace: seconds of CPU that the tests may take beyond three times what they take without a mutant.
    """

    def __init__(self, root: Path, folder: Path, grace: int = 20) -> None:
        self.root, self.folder, self.tree, self._grace = root, folder, folder / "tree", grace
        self._written = count(1)
        shutil.rmtree(self.tree, ignore_errors=True)
        listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for name in subprocess.run(listing, cwd=root, capture_output=True, check=True, text=True).stdout.split("\0"):
            if name and (root / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, self.tree / name)

    def tested(self, area: Area) -> Tested:
        """What each of an area's tests runs, but for those that fail anyway. Raises Broken where all do.

        Found once for the same files.
        """
        files, sources = area.test_files(self.tree), area.sources(self.tree)
        kept = self.folder / f"tested-{digest(self.tree, sources + files)[:16]}.json"
        if not kept.exists():
            told = self.folder / "told.json"
            ended = self._forked(lambda: _traced(self.tree, sources, files, told), cpu=7200, wall=7200.0)
            if ended not in (0, 1):
                raise Broken(f"the tests can't be run; see {self.folder / 'last.log'}")
            told.rename(kept)
        found = json.loads(kept.read_text())
        if not found["tested"].keys() - {IMPORTING}:
            raise Broken(f"all tests fail without a mutant; see {self.folder / 'last.log'}")
        for test in found["failed"]:
            print(f"left out, because it fails without a mutant: {test}", file=sys.stderr)
        return {test: (seconds, functions) for test, (seconds, functions) in found["tested"].items()}

    def verdict(self, mutant: Mutant, tests: list[str], seconds: float) -> tuple[str, str]:
        """What the tests, which take so many seconds, make of a mutant, and the test that failed."""
        file, told = self.tree / mutant.path, self.folder / "failed.txt"
        sound, facts = file.read_bytes(), file.stat()
        told.unlink(missing_ok=True)
        try:
            file.write_bytes(mutant.applied(sound))
            # A time of its own, or what was compiled of another mutant is taken for this one.
            os.utime(file, (facts.st_atime, facts.st_mtime + next(self._written)))
            cpu, wall = int(self._grace + 3 * seconds), 120 + 5 * seconds
            ended = self._forked(lambda: _first_failure(tests, told), cpu, wall)
        finally:
            file.write_bytes(sound)
            os.utime(file, (facts.st_atime, facts.st_mtime))
        failed = told.read_text() if told.exists() else ""
        if ended is None:
            return OVERRAN, failed
        return (SURVIVED if ended == 0 else KILLED), failed or ("" if ended == 0 else "its import, or the process")

    def _forked(self, work: Any, cpu: int, wall: float) -> int | None:
        """Do some work in a fork, with no more than this time of CPU and wall; its exit code, None if it overran."""
        pid = os.fork()
        if pid == 0:
            code = 3
            try:
                self._settle(cpu)
                code = int(work())
            finally:
                os._exit(code)
        ended = _waited(pid, time.monotonic() + wall)
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # and whatever it started
        if ended is None:
            os.waitpid(pid, 0)
        return None if ended is None or ended in {-signal.SIGXCPU, -signal.SIGKILL} else ended

    def _settle(self, cpu: int) -> None:
        os.setsid()
        if os.geteuid() == 0:
            _own_mounts()
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, hard))
        log = os.open(self.folder / "last.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(self.tree)
        shutil.rmtree(self.folder / "tmp", ignore_errors=True)
        os.environ["PYTHONPATH"] = str(self.tree)
        sys.path[:] = [str(self.tree), *(entry for entry in sys.path if entry not in ("", str(self.root)))]
        for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
            del sys.modules[name]


def _own_mounts() -> None:
    """Let what this process mounts be there for it and its children alone. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
        raise OSError(ctypes.get_errno(), "no mounts of its own")


def _waited(pid: int, until: float) -> int | None:
    pause = 0.01
    while time.monotonic() < until:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(0.2, pause * 1.5)
    return None


def warm() -> None:
    """Import what tests need of others."""
    for name in OTHERS:
        import_module(name)


def chosen(area: Area, mutant: Mutant, tested: Tested, before: set[str]) -> list[str]:
    """The tests that may notice a mutant, by whether they noticed others `before`, then the quickest first.

    What runs as it is imported, or in processes of its own, any test may notice; else those that run its function.
    """
    running = {test for test, (_, files) in tested.items() if mutant.scope in files.get(mutant.path, ())}
    any_may = IMPORTING in running or mutant.path in area.elsewhere
    asked = (set(tested) if any_may else running) - {IMPORTING}
    return sorted(asked, key=lambda test: (test not in running, test not in before, tested[test][0]))


def _arguments(folder: Path) -> list[str]:
    return [*_ARGUMENTS, f"--basetemp={folder / 'tmp'}"]


class _Ordered:
    """Keeps of what is collected only these tests, in this order, and tells the first that fails."""

    def __init__(self, tests: list[str], told: Path) -> None:
        self._place, self._told = {test: place for place, test in enumerate(tests)}, told

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((one for one in items if one.nodeid in self._place), key=lambda one: self._place[one.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self._told.exists():
            self._told.write_text(report.nodeid)


def _first_failure(tests: list[str], told: Path) -> int:
    files = list(dict.fromkeys(test.split("::", 1)[0] for test in tests))
    return pytest.main([*_arguments(told.parent), "-x", *files], plugins=[_Ordered(tests, told)])


class _Tracer:
    """Notes which functions of some files each test runs, in every thread of this process, and which their import."""

    def __init__(self, tree: Path, sources: list[str]) -> None:
        self._names = {str(tree / source): source for source in sources}
        self._run: set[tuple[str, str]] = set()
        self.tested: Tested = {}
        self.failed: set[str] = set()

    def start(self) -> None:
        """Note from here on."""
        self._run.clear()
        threading.settrace(self._called)
        sys.settrace(self._called)

    def stop(self, test: str, seconds: float) -> None:
        """What was noted is this test's."""
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        found: dict[str, set[str]] = defaultdict(set)
        for file, qualified in self._run:
            # A part in angle brackets is no name of a scope: <module>, <locals>, <lambda>, <genexpr>.
            found[self._names[file]].add(".".join(part for part in qualified.split(".") if part[0] != "<"))
        self.tested[test] = seconds, {name: sorted(scopes) for name, scopes in found.items()}

    def _called(self, frame: FrameType, event: str, argument: object) -> None:
        if frame.f_code.co_filename in self._names:
            self._run.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.stop(IMPORTING, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        started = time.monotonic()
        self.start()
        try:
            return (yield)
        finally:
            self.stop(item.nodeid, time.monotonic() - started)


def _traced(tree: Path, sources: list[str], files: list[str], told: Path) -> int:
    tracer = _Tracer(tree, sources)
    tracer.start()
    code = pytest.main([*_arguments(told.parent), *files], plugins=[tracer])
    tested = {test: found for test, found in tracer.tested.items() if test not in tracer.failed}
    told.write_text(json.dumps({"tested": tested, "failed": sorted(tracer.failed)}))
    return code
