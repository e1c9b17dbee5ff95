"""An HTTP proxy in front of an object store that loses, truncates or refuses responses on request."""

import contextlib
import http.client
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

LOST, CUT, REFUSED = "lost", "cut", "refused"
Fault = Callable[[str, str], str | None]


class Proxy:
    """A proxy of another server on this machine, and a context manager. `fault` is called with the method and path of
    every request. The fault it returns is applied to the response and counted in `done`.
    """

    def __init__(self, target: str) -> None:
        self.target = urlsplit(target).netloc
        self.fault: Fault = lambda _method, _path: None
        self.done: dict[str, int] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def once(kind: str, method: str, part: str, times: int = 1) -> Fault:
    """Return a fault for this many requests with a method and a path that contains `part`."""
    left, lock = [times], threading.Lock()

    def fault(question: str, path: str) -> str | None:
        with lock:
            if question == method and part in path and left[0] > 0:
                left[0] -= 1
                return kind
        return None

    return fault


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            kind = proxy.fault(self.command, self.path)
            if kind is not None:
                proxy.done[kind] = proxy.done.get(kind, 0) + 1
            if kind == REFUSED:
                self.close_connection = True
                return
            line = http.client.HTTPConnection(proxy.target, timeout=60)
            with contextlib.closing(line):
                line.request(self.command, self.path, body, dict(self.headers))
                answer = line.getresponse()
                content = answer.read()
            if kind == LOST:
                self.close_connection = True
                return
            self.send_response_only(answer.status, answer.reason)
            for name, value in answer.getheaders():
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            length = answer.getheader("content-length") if self.command == "HEAD" else str(len(content))
            self.send_header("content-length", length or "0")
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if kind == CUT else content)
            self.close_connection = kind == CUT

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass_on  # noqa: N815 - the names the library calls

        def handle(self) -> None:
            with contextlib.suppress(ConnectionError):
                super().handle()

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    return Handler
