"""A lease on a local server process: the first user starts the server, later users share it, the last user stops it.

All users of the same control directory get the same running server, in any process of the same system user. The caller
(embedded.py, neo4j_local.py) decides which server runs and when it is ready; supervisor.py keeps the server
running.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from local_servers.supervisor import OWNER_LOCK, SOCKET
from pitlake.errors import GraphUnavailable
from pitlake.recorder import lock

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_GRACE_SECONDS = 20.0
_PATIENCE_SECONDS = _GRACE_SECONDS + 10
_held: "weakref.WeakSet[Lease]" = weakref.WeakSet()


@dataclass(frozen=True)
class Launch:
    """The command and files of a server. info: addresses and credentials, which users receive over the control socket
    and never from a file."""

    command: list[str]
    cwd: Path
    log: Path
    info: dict[str, str]


class Lease:
    """One user's lease on a running server, until `close`. info: as in `Launch`."""

    def __init__(self, line: socket.socket, info: dict[str, str]) -> None:
        self.info = info
        self._line = line
        _held.add(self)

    def alive(self) -> bool:
        """Return whether the server is running."""
        try:
            return self._line.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def close(self) -> None:
        """Release the server. The last user waits until the server has stopped and its files are free."""
        _held.discard(self)
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_WR)
            self._line.settimeout(_PATIENCE_SECONDS)
            while self._line.recv(4096):
                pass
        self._line.close()

    def forget(self) -> None:
        """Drop this process's copy without releasing the lease, for a forked child, which is not a user itself."""
        self._line.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def lease(control: Path, launch: Callable[[], Launch], ready: Callable[[Lease], None]) -> Lease:
    """Attach to the server of `control`, or start one and wait until `ready` returns.

    Args:
        control: a directory for the locks and the socket, created if missing, readable only by its owner.
        launch: called only when no server runs; prepares files and returns the command.
        ready: waits until the leased server is ready; raises if it does not start.

    Raises:
        GraphUnavailable: another server uses the directory and does not respond, or `ready` gave up.
    """
    control.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (control / "start.lock").open("wb") as file:
        lock(file, wait=True)
        if (running := _attach(control)) is not None:
            return running
        _wait_until_free(control / OWNER_LOCK)
        server = launch()
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-I", "-S", str(_SUPERVISOR)]
        with theirs, server.log.open("wb") as log:
            supervisor = subprocess.Popen(
                command, stdin=theirs.fileno(), stdout=log, stderr=log, start_new_session=True
            )
        # Wait for the supervisor's end, so that it leaves no zombie and no warning.
        threading.Thread(target=supervisor.wait, name="graph-server-reaper", daemon=True).start()
        spec = {
            "control": str(control.resolve()),
            "command": server.command,
            "cwd": str(server.cwd),
            "info": server.info,
            "grace": _GRACE_SECONDS,
        }
        ours.sendall(json.dumps(spec).encode() + b"\n")
        started = Lease(ours, server.info)
        try:
            ready(started)
        except BaseException:
            started.close()
            raise
        return started


def _attach(control: Path) -> Lease | None:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _short_path(control) as directory:
            line.connect(f"{directory}/{SOCKET}")
        answer = line.makefile("rb").readline()
    except OSError:
        answer = b""
    if not answer:  # No server runs, or it is shutting down.
        line.close()
        return None
    return Lease(line, json.loads(answer))


@contextlib.contextmanager
def _short_path(directory: Path) -> Iterator[str]:
    """Return a path of the directory that fits into a socket address (108 bytes), if possible."""
    if not sys.platform.startswith("linux"):
        yield str(directory)
        return
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)


def _wait_until_free(path: Path) -> None:
    """Wait until the previous server in this directory has ended."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    with path.open("wb") as file:
        while not lock(file):
            if time.monotonic() > deadline:
                problem = f"a server over {path.parent} runs but does not answer"
                raise GraphUnavailable(problem, "end it, or name another directory")
            time.sleep(0.05)


def _forget_in_child() -> None:
    """Drop a forked child's copies of leases. Otherwise, the server would run as long as the child."""
    for inherited in list(_held):
        inherited.forget()
    _held.clear()


os.register_at_fork(after_in_child=_forget_in_child)
