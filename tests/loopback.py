"""A provider on the loopback with scripted responses per path, including faults. It records the requests."""

import contextlib
import itertools
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """A response. fault: "hang" sends nothing, "drop" closes the connection immediately, "short" sends less than
    announced, "drip" sends ten bytes a second, headers included, until the client disconnects.
    """

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    fault: str = ""

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


class Loopback(ThreadingHTTPServer):
    """A server of responses by path, which repeats the last one. Other paths get `unknown`, by default a 404."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: dict[str, list[Answer]] = {}
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.unknown = [Answer(b"", 404)]
        self.over = threading.Event()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def plays(self, path: str, *answers: Answer) -> None:
        self.script[path] = list(answers)

    def reset(self) -> None:
        self.script.clear()
        self.asked.clear()

    def close(self) -> None:
        self.over.set()
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Loopback

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.server.asked.append((self.command, self.path, dict(self.headers), self.rfile.read(length)))
        answers = self.server.script.get(self.path.partition("?")[0], self.server.unknown)
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer.fault in ("hang", "drop"):
            if answer.fault == "hang":
                self.server.over.wait(30)
            self.close_connection = True
            return
        if answer.fault == "drip":
            self.drip()
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.content) + 10 * (answer.fault == "short")))
        self.end_headers()
        self.wfile.write(answer.content)
        if answer.fault == "short":
            self.close_connection = True

    def drip(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            for byte in itertools.chain(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", itertools.repeat(32)):
                self.wfile.write(bytes([byte]))
                if self.server.over.wait(0.1):
                    return

    do_POST = do_GET  # noqa: N815 - the base class calls it so

    def send_response(self, code: int, message: str | None = None) -> None:
        self.send_response_only(code, message)

    def log_message(self, *_: object) -> None:
        pass
