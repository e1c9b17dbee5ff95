"""A Messages API on the loopback that plays a script: each turn one tool call, and every request is kept.

Which conversation a request belongs to is told by the mark in its first message, and which turn by the answers so far,
so that sub-agents at the same time have scripts of their own.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Call = tuple[str, dict[str, Any]]
Script = Callable[[list[dict[str, Any]]], list[Call]]
"""The calls of a conversation, one a turn, made from the tools its first request offers."""


class Model:
    """What was asked of the scripted model. `scripts`: by the mark that begins a conversation. `beside`: what anything
    else is answered, such as a title, a page's summary or a search.
    """

    def __init__(self, scripts: dict[str, Script], beside: str) -> None:
        self.scripts, self.beside = scripts, beside
        self.bodies: list[str] = []
        self.offered: dict[str, list[dict[str, Any]]] = {}
        self.results: dict[str, str] = {}
        self._calls: dict[str, list[Call]] = {}
        self._lock = threading.Lock()

    def answer(self, body: bytes) -> list[tuple[str, dict[str, Any]]]:
        """The events of the next turn."""
        told = json.loads(body)
        with self._lock:
            self.bodies.append(body.decode())
            mark = self._mark(told["messages"])
            if mark is None:
                return events(told, text=self.beside)
            tools = told.get("tools", [])
            if mark not in self._calls:
                self.offered[mark] = tools
                self._calls[mark] = self.scripts[mark](tools)
            self._keep_results(told["messages"])
            turn = sum(message["role"] == "assistant" for message in told["messages"])
            calls = self._calls[mark]
            return events(told, text="done") if turn >= len(calls) else events(told, calls[turn], f"{mark}-{turn}")

    def calls(self, mark: str) -> list[Call]:
        """The calls a conversation was made of."""
        return self._calls.get(mark, [])

    def _mark(self, messages: list[dict[str, Any]]) -> str | None:
        first = json.dumps(messages[0])
        return next((mark for mark in self.scripts if mark in first), None)

    def _keep_results(self, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            for part in message["content"] if isinstance(message["content"], list) else ():
                if part.get("type") == "tool_result":
                    self.results[part["tool_use_id"]] = json.dumps(part.get("content"))


def events(told: dict[str, Any], call: Call | None = None, name: str = "", text: str = "") -> list[Any]:
    """One assistant's turn, a text or a tool call, as the API streams it."""
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta: dict[str, Any] = {"type": "text_delta", "text": text}
    if call is not None:
        block = {"type": "tool_use", "id": f"toolu_{name}", "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    usage = {"input_tokens": 1, "output_tokens": 1}
    start = {"id": f"msg_{name or 'x'}", "type": "message", "role": "assistant", "model": told["model"], "content": [],
             "stop_reason": None, "stop_sequence": None, "usage": usage}  # fmt: skip
    stop = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    return [
        ("message_start", {"message": start}),
        ("content_block_start", {"index": 0, "content_block": block}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": stop, "usage": {"output_tokens": 1}}),
        ("message_stop", {}),
    ]


def whole(streamed: list[Any]) -> dict[str, Any]:
    """A turn as the API answers it where no stream is asked for."""
    message: dict[str, Any] = dict(streamed[0][1]["message"])
    block, delta = dict(streamed[1][1]["content_block"]), streamed[2][1]["delta"]
    block.update({"text": delta["text"]} if block["type"] == "text" else {"input": json.loads(delta["partial_json"])})
    return message | {"content": [block], "stop_reason": streamed[4][1]["delta"]["stop_reason"]}


@contextmanager
def serving(model: Model, page: str) -> Iterator[str]:
    """The model's address while it is served. page: what any GET is answered, so that the web has something to say."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self._send(page.encode(), "text/html")

        def do_HEAD(self) -> None:
            self._send(b"", "text/html")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if "/v1/messages" not in self.path:
                return self._send(b"{}", "application/json")
            if "count_tokens" in self.path:
                return self._send(b'{"input_tokens": 1}', "application/json")
            turn = model.answer(body)
            if not json.loads(body).get("stream"):
                return self._send(json.dumps(whole(turn)).encode(), "application/json")
            lines = (f"event: {kind}\ndata: {json.dumps({'type': kind, **facts})}\n\n" for kind, facts in turn)
            return self._send("".join(lines).encode(), "text/event-stream")

        def _send(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Clients hang up when they are done."""

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
