"""Keeps one server process running exactly as long as it has users. A separate program without dependencies.

local_servers.lease starts it and passes one line of JSON on a socket as its standard input. Every user of the server is
a connected socket, which the kernel closes when the user ends, even by kill -9. When the last socket is closed, the
server is stopped. The server cannot outlive this program. The program never reads the server's output and can run any
kind of server.
"""

import ctypes
import fcntl
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

SOCKET, OWNER_LOCK = "control.sock", "owner.lock"
_PR_SET_PDEATHSIG = 1


def _die_with(parent: int) -> Callable[[], None] | None:
    """Return a function with which a child asks the kernel to kill it when its parent dies. None except on Linux, where
    only an orderly end stops the child.
    """
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def bind() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return bind


class Supervisor:
    """One server and its users. `run` returns when the server has ended and everything is released."""

    def __init__(self, first_user: socket.socket) -> None:
        self.spec = json.loads(first_user.makefile("rb").readline())
        os.chdir(self.spec["control"])
        self.owner = os.open(OWNER_LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self.owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        Path(SOCKET).unlink(missing_ok=True)
        self.door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.door.bind(SOCKET)
        Path(SOCKET).chmod(0o600)
        self.door.listen(64)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.door, selectors.EVENT_READ)
        self.users = {first_user}
        self.selector.register(first_user, selectors.EVENT_READ)
        self.server = subprocess.Popen(
            self.spec["command"],
            cwd=self.spec["cwd"],
            stdin=subprocess.DEVNULL,  # the server's output goes to the log, like ours
            pass_fds=(self.owner,),  # the lock becomes free only when the server has ended
            preexec_fn=_die_with(os.getpid()),  # noqa: PLW1509  no thread runs yet
        )
        # The socket signals the server's end.
        ended, tell = socket.socketpair()

        def wait() -> None:
            self.server.wait()
            tell.close()

        threading.Thread(target=wait, daemon=True).start()
        signal.signal(signal.SIGTERM, lambda *_: self.server.terminate())
        self.selector.register(ended, selectors.EVENT_READ)
        self.ended = ended

    def run(self) -> None:
        """Serve until the last user has left or the server has ended."""
        while self.users:
            for key, _ in self.selector.select():
                ready = key.fileobj
                if ready is self.ended:
                    self._close()
                    return
                if ready is self.door:
                    user, _ = self.door.accept()
                    user.sendall(json.dumps(self.spec["info"]).encode() + b"\n")
                    self.users.add(user)
                    self.selector.register(user, selectors.EVENT_READ)
                elif ready in self.users and not self._still_there(ready):
                    if len(self.users) == 1:  # The last user waits until this end closes, so close it after the server.
                        self._close()
                        return
                    self.selector.unregister(ready)
                    self.users.discard(ready)
                    ready.close()

    def _still_there(self, user: socket.socket) -> bool:
        try:
            return bool(user.recv(64))
        except OSError:
            return False

    def _close(self) -> None:
        """Release everything. Stop listening first, so that a new user starts a new server."""
        self.door.close()
        Path(SOCKET).unlink(missing_ok=True)
        if self.server.poll() is None:
            self.server.terminate()
            try:
                self.server.wait(self.spec["grace"])
            except subprocess.TimeoutExpired:
                self.server.kill()
                self.server.wait()
        for user in self.users:
            user.close()


if __name__ == "__main__":
    Supervisor(socket.socket(fileno=0)).run()
