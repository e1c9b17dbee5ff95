"""The warm process sessions are forked from: libraries loaded and blank DuckDBs ready, no lake, no caller's data.

A fork gives every session its own copy of one, which is sound because neither it nor this process has a second
thread, and spares the session most of its opening time. The zygote never sees what a session is about: it takes a
socket from its parent, forks, and hands back the child's pid and pidfd; all else goes over that socket. It ends when
its parent's end closes, and its children end with it. Started by launcher.py as an interpreter of its own.
"""

import gc
import os
import signal
import socket
import struct
import sys
from contextlib import suppress

ANSWER = struct.Struct(">q")
SEPARATED, NOT_SEPARATED = b"\x01", b"\x02"


def main(descriptor: int, chosen: list[list[str]]) -> None:
    """Serve forks on this socket until the other side closes it. chosen: datasets, one DuckDB for each choice."""
    # DuckDB and Arrow use these to hand data to Python, which never happens here; without them the start is shorter.
    sys.modules["numpy"] = sys.modules["pandas"] = None  # type: ignore[assignment]
    from pitlake.session.sealed import child, sandbox
    from pitlake.session.sql import engine, statements

    sandbox.load_libraries()
    connections = [engine.connect(statements.ready(names)) for names in chosen]
    if len(os.listdir("/proc/self/task")) != 1:  # noqa: PTH208  nothing else of pathlib is loaded here
        sys.exit("a second thread: forks would not be copies")
    os.environ.clear()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps children; the parent holds their pidfds
    _be_killed_first()
    separated = sandbox.separate()
    gc.collect()
    gc.freeze()
    os.dup2(0, 2)  # nobody listens from here on
    with socket.socket(fileno=descriptor) as control:
        control.sendall((SEPARATED if separated else NOT_SEPARATED) + statements.fingerprint())
        while channel := _next_channel(control):
            zygote = os.getpid()
            pid = os.fork()
            if pid == 0:
                _leave_zygote(zygote, channel)
                try:
                    child.serve(channel, connections, separated)
                finally:
                    os._exit(0)
            os.close(channel)
            _introduce(control, pid)


def _next_channel(control: socket.socket) -> int:
    signalled, descriptors, _, _ = socket.recv_fds(control, 1, 1)
    return descriptors[0] if signalled and descriptors else 0


def _leave_zygote(zygote: int, channel: int) -> None:
    from pitlake.session.sealed import sandbox

    sandbox.die_with(zygote)
    os.closerange(3, channel)
    os.closerange(channel + 1, 1 << 20)


def _introduce(control: socket.socket, pid: int) -> None:
    pidfd = os.pidfd_open(pid)
    try:
        socket.send_fds(control, [ANSWER.pack(pid)], [pidfd])
    finally:
        os.close(pidfd)


def _be_killed_first() -> None:
    # When the machine runs out of memory, sessions are what the kernel should take first.
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write("900")
