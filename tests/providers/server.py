"""A local HTTP server that simulates every provider with bundled responses, and simulates faults on request.

`http://127.0.0.1:<port>/<provider>` replaces the provider's base URL and all of its hosts. A fault receives each
request and its response, and returns a different response. The server records the requests.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from sample import bundled

LONGEST_HOLD = 30.0


@dataclass(frozen=True)
class Ask:
    """A request that reached the server. `number` counts requests from 0."""

    provider: str
    method: str
    path: str
    params: Mapping[str, str]
    said: str
    headers: Mapping[str, str]
    number: int

    @property
    def what(self) -> tuple[str, str, tuple[tuple[str, str], ...], str]:
        """Return the parts that identify a request, without secrets."""
        secret = {"apikey", "api_key", "token", "crumb"}
        question = tuple(sorted((name, value) for name, value in self.params.items() if name.lower() not in secret))
        return self.provider, self.path, question, self.said


@dataclass(frozen=True)
class Reply:
    """A response. hold: send nothing until the server closes. missing: number of bytes announced beyond the body."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    hold: bool = False
    missing: int = 0


Fault = Callable[[Ask, Reply], Reply]


class Loopback:
    """The server, a context manager. `fault` can be set at any time; None means no fault."""

    def __init__(self) -> None:
        self.fault: Fault | None = None
        self.asked: list[Ask] = []
        self._released = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def url(self, provider: str) -> str:
        """Return the base URL of a simulated provider."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/{provider}"

    def settings(self) -> dict[str, str]:
        """Return the environment variables that direct every provider to this server."""
        return {f"PITLAKE_{name.upper()}_URL": self.url(name) for name in bundled.providers()}

    def behave(self, fault: Fault | None = None) -> None:
        """Set the fault, release held responses, and forget the recorded requests."""
        self._released.set()
        with self._lock:
            self._released = threading.Event()
            self.fault, self.asked = fault, []

    def reply(
        self, handler: BaseHTTPRequestHandler, provider: str, path: str, params: dict[str, str], message: str
    ) -> Reply:
        """Record a request and return its response, changed by the fault."""
        with self._lock:
            ask = Ask(provider, handler.command, path, params, message, dict(handler.headers), len(self.asked))
            self.asked.append(ask)
            fault = self.fault
        result = bundled.find(provider, ask.method, path, params, message)
        reply = Reply(404, b"") if result is None else Reply(result.status, result.body, result.headers)
        return reply if fault is None else fault(ask, reply)

    def hold(self) -> None:
        """Wait until the fault is replaced or the server closes."""
        self._released.wait(LONGEST_HOLD)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(loopback: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            parts = urlsplit(self.path)
            _, provider, *rest = parts.path.split("/", 2)
            length = int(self.headers.get("content-length") or 0)
            message = json.dumps(json.loads(self.rfile.read(length))) if length else "null"
            path = rest[0] if rest else ""
            reply = loopback.reply(self, provider, path, dict(parse_qsl(parts.query, keep_blank_values=True)), message)
            if reply.hold:
                loopback.hold()
                self.close_connection = True
                return
            headers = {"date": formatdate(usegmt=True)} | {name.lower(): each for name, each in reply.headers.items()}
            self.send_response_only(reply.status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(reply.body) + reply.missing))
            self.end_headers()
            self.wfile.write(reply.body)
            self.close_connection = bool(reply.missing)

        do_GET = do_POST = _answer  # noqa: N815 - names required by the library

        def log_message(self, *_: Any) -> None:
            """Log nothing, to keep the tests' output clean."""

        def handle(self) -> None:
            try:
                super().handle()
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client gave up waiting, as intended by the fault

    return Handler
