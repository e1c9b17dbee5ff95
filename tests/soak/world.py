"""The soak's surroundings: a proxy in front of the graph that can be shut, a webhook that stores alerts, and a disk
that can be filled.

Nothing here depends on Dagster or the lake.
"""

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

DISK = "48m"


class Proxy:
    """A TCP proxy on the loopback, in front of another port. While it is shut, it closes new and existing connections.
    `pause` is the delay of each block in seconds.
    """

    def __init__(self, target: int) -> None:
        self._target, self._open = target, True
        self.pause = 0.0
        self._lines: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def shut(self) -> None:
        """Close all connections, as if the server were gone."""
        self._open = False
        for line in list(self._lines):
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def reopen(self) -> None:
        """Accept connections again."""
        self._open = True

    def _accept(self) -> None:
        while True:
            line, _ = self._listener.accept()
            if not self._open:
                line.close()
                continue
            other = socket.create_connection(("127.0.0.1", self._target))
            for item, two in ((line, other), (other, line)):
                self._lines.add(item)
                threading.Thread(target=self._carry, args=(item, two), daemon=True).start()

    def _carry(self, item: socket.socket, two: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while block := item.recv(65536):
                time.sleep(self.pause)
                two.sendall(block)
        for line in (item, two):
            self._lines.discard(line)
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)


class Webhook:
    """A webhook that stores every alert posted to it."""

    def __init__(self) -> None:
        self.alerts: list[tuple[float, str, str]] = []
        alerts = self.alerts

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                document = json.loads(self.rfile.read(int(self.headers["content-length"])))
                alerts.append((time.time(), document["title"], document["message"]))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"json://127.0.0.1:{server.server_port}/"


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """Mount a small separate disk at `folder`, and yield whether this was possible, which requires root."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", folder]
    mounted = os.geteuid() == 0 and subprocess.run(command, check=False, capture_output=True).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", folder], check=False)


def fill(disk: Path) -> None:
    """Fill the disk completely. Repeat this, because a failed run frees its bytes."""
    with contextlib.suppress(OSError), (disk / "filler").open("ab") as file:
        while True:
            file.write(bytes(1 << 16))
            file.flush()


def empty(disk: Path) -> None:
    """Free the filled space."""
    (disk / "filler").unlink(missing_ok=True)
