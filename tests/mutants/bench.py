"""A copy of a project's tree, and forks of this process that run the tests of the copy.

This process imports the third-party libraries of the tests but no module of the project, so that each fork imports
the changed file.
"""

import ctypes
import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from pathlib import Path

from tests.mutants.operators import Mutant

OTHERS = ("hypothesis", "pandas", "pyarrow.parquet", "pyarrow.dataset", "duckdb", "deltalake", "requests", "mcp",
          "exchange_calendars", "dagster", "neo4j", "obstore", "psutil", "tenacity",
          "pydantic_ai", "jsonschema", "pdb", "xdist.plugin", "xdist.looponfail", "platformdirs.pytest_plugin",
          "anyio.pytest_plugin", "_hypothesis_pytestplugin", "pytest_timeout")  # fmt: skip
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 16384, 1 << 18


class Broken(Exception):
    """The tests cannot run, or all fail, without a mutant."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a fork: its exit code, None after a timeout, and its CPU seconds including its children."""

    code: int | None
    cpu: float


def digest(root: Path, files: Iterable[str]) -> str:
    """Return a hash of the contents of these files. Missing files count as missing."""
    paths = [root / name for name in files]
    contents = (hashlib.sha256(path.read_bytes()).digest() if path.exists() else b"" for path in paths)
    return hashlib.sha256(b"\0".join(contents)).hexdigest()


def apart() -> list[str]:
    """Return the command prefix for separate mount and PID namespaces, which are needed when running as root: a fault
    in the seal could mount over this machine's folders or signal its processes. Raises Broken without unshare.
    """
    if os.geteuid() != 0:
        return []
    if shutil.which("unshare") is None:
        raise Broken("run as another user, or install util-linux: as root a planted fault could reach this machine")
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


class Bench:
    """A copy of a project's tree whose tests run with one changed file at a time."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder, self.tree = root, folder, folder / "tree"
        self._written = count(1)
        shutil.rmtree(self.tree, ignore_errors=True)
        listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for name in subprocess.run(listing, cwd=root, capture_output=True, check=True, text=True).stdout.split("\0"):
            if name and (root / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, self.tree / name)

    def changed(self, mutant: Mutant, work: Callable[[], int], wall: float) -> Ended:
        """Run `work` in a fork while the mutant's file is changed."""
        file = self.tree / mutant.path
        sound, facts = file.read_bytes(), file.stat()
        try:
            file.write_bytes(mutant.applied(sound))
            # The time must be unique; otherwise the bytecode of another mutant would be used.
            os.utime(file, (facts.st_atime, facts.st_mtime + next(self._written)))
            return self.forked(work, wall)
        finally:
            file.write_bytes(sound)
            os.utime(file, (facts.st_atime, facts.st_mtime))

    def forked(self, work: Callable[[], int], wall: float) -> Ended:
        """Run `work` in a fork for at most `wall` seconds. Its result is the exit code."""
        pid = os.fork()
        if pid == 0:
            code = 3
            try:
                self._settle()
                code = int(work())
            finally:
                os._exit(code)
        ended = _waited(pid, time.monotonic() + wall)
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # with everything that it started
        code, usage = ended or (None, os.wait4(pid, 0)[2])
        return Ended(None if code in {-signal.SIGXCPU, -signal.SIGKILL} else code, usage.ru_utime + usage.ru_stime)

    def _settle(self) -> None:
        os.setsid()
        if os.geteuid() == 0:
            _own_mounts()
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
    """Make this process's mounts visible only to it and its children. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
        raise OSError(ctypes.get_errno(), "no mounts of its own")


def _waited(pid: int, until: float) -> tuple[int, resource.struct_rusage] | None:
    pause = 0.01
    while time.monotonic() < until:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status), usage
        time.sleep(pause)
        pause = min(0.2, pause * 1.5)
    return None


def warm() -> None:
    """Import the tests' third-party libraries."""
    for name in OTHERS:
        import_module(name)
