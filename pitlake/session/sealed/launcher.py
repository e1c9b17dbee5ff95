"""The parent's side of its zygote, which starts once, forks sessions, and ends with this process.

Each process has one zygote. The first sealed session (or `begin`, or `warm`) starts it, and all threads use it under a
lock. zygote.py is the other side. This module imports no libraries, so that the zygote can load them meanwhile.
"""

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Collection
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from pitlake.errors import IsolationUnavailable, SessionLost
from pitlake.session.sealed.zygote import ANSWER, SEPARATED

START_SECONDS = 30.0
_GREETING = 1 + 32
_ROOT = str(Path(__file__).resolve().parents[3])
_ENVIRONMENT = {
    # The zygote must have a single thread. fork copies only one thread, and the kernel refuses namespaces to processes
    # with several.
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    # Every arena reserves 64 MiB of the address space that RLIMIT_AS bounds.
    "MALLOC_ARENA_MAX": "2",
}


@dataclass
class Forked:
    """The process of a new session: its socket, its pid, and a pidfd, which can't refer to another process."""

    channel: socket.socket
    pid: int
    pidfd: int


class Zygote:
    """The running zygote and the socket to it. It loads its libraries until `wait` is called."""

    def __init__(self) -> None:
        self.owner, self.ready, self.separated = os.getpid(), False, False
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-W", "ignore", "-c", _program(theirs.fileno())],
                env=_ENVIRONMENT,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,  # The parent reads this stream only while the zygote starts.
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # The parent handles Ctrl-C of a terminal.
            )
        self._control = ours
        ours.settimeout(START_SECONDS)

    def wait(self) -> None:
        """Wait until the zygote can fork. Raises IsolationUnavailable after the zygote has ended."""
        from pitlake.session.sql.statements import fingerprint

        with self.process.stderr or nullcontext() as stderr:
            try:
                first = self._control.recv(_GREETING, socket.MSG_WAITALL)
            except OSError:
                first = b""
            if len(first) < _GREETING:
                self.process.kill()
                last = stderr.read().decode(errors="replace").strip().splitlines()[-1:] if stderr else []
                self.close()
                problem = f"the process that forks sessions did not start ({''.join(last) or 'silent'})"
                raise IsolationUnavailable(problem, "run `pitlake doctor`, which checks this installation")
        self.separated = first[:1] == SEPARATED
        if first[1:] != fingerprint():
            self.close()
            raise IsolationUnavailable("pitlake was updated while this process was running", "restart the process")
        self.ready = True

    @property
    def alive(self) -> bool:
        """Return whether the zygote runs and belongs to this process. A fork must not share its parent's zygote."""
        return self.owner == os.getpid() and self.process.poll() is None

    def fork(self, datasets: Collection[str]) -> Forked:
        """Fork a process that has a DuckDB prepared with these datasets and waits for its files.

        Raises SessionLost if the zygote is gone.
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._control, [json.dumps(sorted(datasets)).encode()], [theirs.fileno()])
            answer, descriptors, _, _ = socket.recv_fds(self._control, ANSWER.size, 1)
        except OSError:
            answer, descriptors = b"", []
        if len(answer) != ANSWER.size or not descriptors:
            ours.close()
            raise SessionLost("the process that forks sessions ended; try again")
        return Forked(ours, ANSWER.unpack(answer)[0], descriptors[0])

    def close(self) -> None:
        """End the zygote and all of its sessions."""
        self._control.close()
        if self.owner == os.getpid():  # A fork of this process must not end its parent's zygote.
            self.process.kill()
            self.process.wait()
        if self.process.stderr:
            self.process.stderr.close()


_lock = threading.Lock()
_zygote: Zygote | None = None


def begin() -> None:
    """Start the zygote without waiting, so that it loads its libraries while this process does something else.

    The first session reports errors of the start.
    """
    global _zygote  # noqa: PLW0603  one zygote a process is the point
    with _lock, suppress(OSError):
        _zygote = _zygote or Zygote()


def warm(datasets: Collection[str] = ()) -> None:
    """Start the zygote and prepare it for sessions of these datasets (default: all that as-of sessions have). The first
    session then opens faster. Raises IsolationUnavailable.
    """
    from pitlake.session.sql.statements import installed

    chosen = datasets or [name for name, each in installed().items() if not each.dataset.open_only]
    forked = fork(chosen)
    forked.channel.close()  # Closing the socket ends the process.
    os.close(forked.pidfd)


def fork(datasets: Collection[str]) -> Forked:
    """Fork a process for a session, prepared with these datasets of this installation.

    Raises IsolationUnavailable if sessions can't be sealed.
    """
    with _lock:
        try:
            return _running().fork(datasets)
        except SessionLost:
            _drop()
            return _running().fork(datasets)


def separated() -> bool:
    """Return whether sessions get their own root here."""
    with _lock:
        return _running().separated


def _running() -> Zygote:
    global _zygote  # noqa: PLW0603  one zygote a process is the point
    if _zygote is None or not _zygote.ready or not _zygote.alive:
        from pitlake.session.sealed import sandbox

        if problem := sandbox.lacking():
            _drop()
            raise IsolationUnavailable(problem)
        if _zygote is None or not _zygote.alive:
            _drop()
            _zygote = Zygote()
        _zygote.wait()
    return _zygote


def _drop() -> None:
    global _zygote  # noqa: PLW0603
    if _zygote is not None:
        _zygote.close()
        _zygote = None


def _program(descriptor: int) -> str:
    # The folders of this process's libraries, without site, environment and current directory. The standard library is
    # first, so that a user's html.py next to a script does not replace Python's.
    standard = os.path.dirname(os.__file__)  # noqa: PTH120
    path = [entry for entry in sys.path if os.path.isabs(entry)]  # noqa: PTH117
    path.sort(key=lambda entry: entry not in (standard, os.path.join(standard, "lib-dynload")))  # noqa: PTH118
    library_path = path if _ROOT in path else [*path, _ROOT]
    run = f"from pitlake.session.sealed.zygote import main; main({descriptor})"
    return f"import sys; sys.path[:] = {library_path!r}; {run}"


atexit.register(_drop)
