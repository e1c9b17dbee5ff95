"""A Messages API on loopback that follows a script of one tool call per turn and keeps every request.

The mark in a request's first message identifies its conversation, and the number of answers its turn. Concurrent
sub-agents therefore have separate scripts.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Call = tuple[str, dict[str, Any]]
Plain = str | Call | list[Call]
Turn = Plain | Callable[[str], Plain]
"""A turn of the model: a text, a call or parallel calls, or a function that makes one of these from the request."""
Script = Callable[[list[dict[str, Any]]], Sequence[Turn]]
"""A function that makes the turns from the tools in the first request. All later turns are "done"."""


_DEFERRED = re.compile(r"deferred tools are now available[^\n]*:\n((?:[\w-]+(?:\n|$))+)")


class Model:
    """A scripted model and the requests it received. scripts: the script of each conversation, by its mark. beside: the
    answer to all other requests, such as for a title. searching: whether a conversation first searches for its
    deferred tools, before its script is made.
    """

    def __init__(self, scripts: dict[str, Script], beside: str, *, searching: bool = False) -> None:
        self.scripts, self.beside, self.searching = scripts, beside, searching
        self.deferred: dict[str, list[str]] = {}
        self.bodies: list[str] = []
        self.offered: dict[str, list[dict[str, Any]]] = {}
        self.results: dict[str, str] = {}
        self._turns: dict[str, Sequence[Turn]] = {}
        self._lock = threading.Lock()

    def answer(self, body: bytes) -> list[tuple[str, dict[str, Any]]]:
        """Return the events of the next turn."""
        document = json.loads(body)
        with self._lock:
            self.bodies.append(body.decode())
            mark = self._mark(document["messages"])
            if mark is None:
                return events(document, self.beside)
            tools = document.get("tools", [])
            search: list[Turn] = []
            if self.searching and mark not in self._turns:
                names = self.deferred.setdefault(mark, deferred(document))
                search = [("ToolSearch", {"query": f"select:{','.join(names)}", "max_results": 100})] if names else []
                if search and not any(message["role"] == "assistant" for message in document["messages"]):
                    return events(document, search[0], f"{mark}-0")
            if mark not in self._turns:
                self.offered[mark] = tools
                self._turns[mark] = [*search, *self.scripts[mark](tools)]
            self._keep_results(document["messages"])
            turn = sum(message["role"] == "assistant" for message in document["messages"])
            turns = self._turns[mark]
            output = turns[turn] if turn < len(turns) else "done"
            return events(document, output(body.decode()) if callable(output) else output, f"{mark}-{turn}")

    def turns(self, mark: str) -> Sequence[Any]:
        """Return the turns of a conversation; those without a call as ("",)."""
        return [turn if isinstance(turn, tuple) else ("",) for turn in self._turns.get(mark, ())]

    def calls(self, mark: str) -> list[Call]:
        """Return the calls of a conversation, from its turns with one call."""
        return [turn for turn in self._turns.get(mark, ()) if isinstance(turn, tuple)]

    def _mark(self, messages: list[dict[str, Any]]) -> str | None:
        first = json.dumps(messages[0])
        return next((mark for mark in self.scripts if mark in first), None)

    def _keep_results(self, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            for part in message["content"] if isinstance(message["content"], list) else ():
                if part.get("type") == "tool_result":
                    self.results[part["tool_use_id"]] = json.dumps(part.get("content"))


def deferred(reply: dict[str, Any]) -> list[str]:
    """Return the tools that a request names as deferred. Versions that offer all tools immediately have none."""
    texts = (part.get("text", "") for message in reply["messages"] for part in _parts(message))
    listing = (_DEFERRED.search(text) for text in texts)
    return next((result.group(1).split() for result in listing if result), [])


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"text": content}] if isinstance(content, str) else content


def events(reply: dict[str, Any], turn: Plain, name: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Return one assistant turn, a text or parallel tool calls, as the API streams it."""
    calls = [] if isinstance(turn, str) else [turn] if isinstance(turn, tuple) else turn
    blocks: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (
            {
                "type": "tool_use",
                "id": f"toolu_{name}" + (f"-{number}" if number else ""),
                "name": call[0],
                "input": {},
            },
            {"type": "input_json_delta", "partial_json": json.dumps(call[1])},
        )
        for number, call in enumerate(calls)
    ]
    if isinstance(turn, str):
        blocks = [({"type": "text", "text": ""}, {"type": "text_delta", "text": turn})]
    usage = {"input_tokens": 1, "output_tokens": 1}
    start = {"id": f"msg_{name or 'x'}", "type": "message", "role": "assistant", "model": reply["model"], "content": [],
             "stop_reason": None, "stop_sequence": None, "usage": usage}  # fmt: skip
    stop = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    streamed: list[tuple[str, dict[str, Any]]] = [("message_start", {"message": start})]
    for index, (block, delta) in enumerate(blocks):
        streamed += [
            ("content_block_start", {"index": index, "content_block": block}),
            ("content_block_delta", {"index": index, "delta": delta}),
            ("content_block_stop", {"index": index}),
        ]
    ending = {"delta": stop, "usage": {"output_tokens": 1}}
    return [*streamed, ("message_delta", ending), ("message_stop", {})]


def whole(streamed: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Return a turn in the form of an API response without streaming."""
    blocks, reason = [], None
    for kind, reply in streamed:
        if kind == "content_block_start":
            blocks.append(dict(reply["content_block"]))
        elif kind == "content_block_delta":
            delta = reply["delta"]
            response = delta.get("text")
            blocks[-1].update({"input": json.loads(delta["partial_json"])} if response is None else {"text": response})
        elif kind == "message_delta":
            reason = reply["delta"]["stop_reason"]
    message: dict[str, Any] = streamed[0][1]["message"]
    return message | {"content": blocks, "stop_reason": reason}


@contextmanager
def serving(model: Model, page: str) -> Iterator[str]:
    """Serve the model and yield its address. page: the answer to every GET, so that fetched web pages have content."""

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
            """Ignore clients that close the connection early."""

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
