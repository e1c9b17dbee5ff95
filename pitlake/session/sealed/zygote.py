"""The warm process from which sessions are forked.

It has loaded the libraries and prepared DuckDBs. It has no data of a lake or a caller.

A fork gives every session its own copy of a DuckDB, which saves most of the opening time. This is safe because neither
the DuckDB nor this process has a second thread. The zygote receives only a socket and the names of a session's datasets
from its parent, forks, and returns the child's pid and pidfd. Everything else goes over that socket. The zygote and its
children end when the parent's end closes. launcher.py starts it as a separate interpreter.
"""

import gc
import json
import os
import select
import signal
import socket
import struct
import sys
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

ANSWER = struct.Struct(">q")
SEPARATED, NOT_SEPARATED = b"\x01", b"\x02"
MOST_PREPARED = 8
_LONGEST_ORDER = 1 << 16
_IDLE_MILLISECONDS = 250


class Prepared:
    """DuckDBs without rows: one for each recent selection of datasets, and one in reserve."""

    def __init__(self) -> None:
        self._of: OrderedDict[tuple[str, ...], duckdb.DuckDBPyConnection] = OrderedDict()
        self._reserve: duckdb.DuckDBPyConnection | None = None
        self.refill()

    def of(self, names: tuple[str, ...]) -> "duckdb.DuckDBPyConnection":
        """Return the DuckDB prepared with these datasets. The first call creates it and drops the oldest."""
        from pitlake.session.sql import engine

        if names not in self._of:
            self._of[names] = engine.prepare(self._reserve or engine.connect(), names)
            self._reserve = None
        self._of.move_to_end(names)
        while len(self._of) > MOST_PREPARED:
            self._of.popitem(last=False)[1].close()
        return self._of[names]

    def refill(self) -> None:
        """Create the reserve for the next selection."""
        from pitlake.session.sql import engine

        self._reserve = self._reserve or engine.connect()
        if len(os.listdir("/proc/self/task")) != 1:  # noqa: PTH208  nothing else of pathlib is loaded here
            sys.exit("a second thread exists, so forks would not be complete copies")


def main(descriptor: int) -> None:
    """Fork processes for this socket until the other side closes it."""
    gc.disable()
    # DuckDB and Arrow need these only to pass data to Python, which never happens here. The start is faster without
    # them.
    sys.modules["numpy"] = sys.modules["pandas"] = sys.modules["cloudpickle"] = None  # type: ignore[assignment]
    from pitlake.session.sealed import child, sandbox
    from pitlake.session.sql import reading, statements

    prepared = Prepared()
    # These read the installation's files, which is impossible once the process has its own root.
    fingerprint = statements.fingerprint()
    reading.reading_macros()
    os.environ.clear()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # The kernel reaps the children; the parent holds their pidfds.
    # If the machine runs out of memory, the kernel should kill sessions first.
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write("900")
    separated = sandbox.separate()
    gc.freeze()
    gc.enable()
    os.dup2(0, 2)  # The parent reads stderr only up to this point.
    with socket.socket(fileno=descriptor) as control:
        control.sendall((SEPARATED if separated else NOT_SEPARATED) + fingerprint)
        orders = select.poll()
        orders.register(control, select.POLLIN)
        while order := _next_order(control):
            names, channel = order
            connection = prepared.of(names)
            zygote = os.getpid()
            pid = os.fork()
            if pid == 0:
                _leave_zygote(zygote, channel)
                try:
                    child.serve(channel, connection, separated)
                finally:
                    os._exit(0)
            os.close(channel)
            pidfd = os.pidfd_open(pid)
            try:
                socket.send_fds(control, [ANSWER.pack(pid)], [pidfd])
            finally:
                os.close(pidfd)
            # A process with a single session, such as a command, needs no reserve.
            if not orders.poll(_IDLE_MILLISECONDS):
                prepared.refill()


def _next_order(control: socket.socket) -> tuple[tuple[str, ...], int] | None:
    order, descriptors, _, _ = socket.recv_fds(control, _LONGEST_ORDER, 1)
    return (tuple(json.loads(order)), descriptors[0]) if order and descriptors else None


def _leave_zygote(zygote: int, channel: int) -> None:
    from pitlake.session.sealed import sandbox

    sandbox.die_with(zygote)
    os.closerange(3, channel)
    os.closerange(channel + 1, 1 << 20)
