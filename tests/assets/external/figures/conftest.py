"""Shared by the tests of providers' figures: answers from bundled fixtures, and a loopback server that serves them."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timezone
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

import pytest

from assets.external import all_feeds
from assets.extraction import Gap, Row, RunFacts
from assets.feeds.feed import Scope
from assets.feeds.runs import collect_unit, outcomes
from pitlake.lake.lake import Lake
from resources.http.capture import Capture, CaptureStore
from resources.http.client import HttpClient
from sample import bundled

FETCHED = datetime(2024, 7, 9, 12, tzinfo=timezone.utc)
OBSERVED = datetime(2026, 1, 1, tzinfo=timezone.utc)


def no_split(_ticker, _after, _until):
    """The splits of a lake whose polls prove that there was none."""
    return 1.0


class Answers:
    """Runs one feed on the fixtures, or on given bodies, without a server."""

    def __init__(self, name: str, **scope) -> None:
        self.feed = all_feeds()[name]
        self.scope = Scope(**scope)

    def captures(self, *bodies: bytes | str | dict, fetched_at=FETCHED, headers=None) -> Callable:
        answers_left = iter(bodies)

        def fetch(request):
            params = dict(request.query)
            body = next(answers_left, None)
            if body is None:
                payload = json.dumps(request.json)
                body = bundled.find(self.feed.provider.name, request.method, request.path, params, payload).body
            content = (
                body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
            )
            return Capture(
                source=self.feed.provider.name, method=request.method, url=self.feed.provider.url(request),
                params=request.query, payload=request.json, status=200, headers=headers or {}, body=content,
                fetched_at=fetched_at, sha256=sha256(content).hexdigest(),
                request_key=request.key(self.feed.provider.name),
            )  # fmt: skip

        return fetch

    def outcomes(self, *bodies, **how) -> list[Row | Gap]:
        return [outcome for outcome, _ in self.dated(*bodies, **how)]

    def dated(
        self, *bodies, observed_at=OBSERVED, releases=None, splits=no_split, **how
    ) -> list[tuple[Row | Gap, date]]:
        fetch = self.captures(*bodies, **how)
        run = RunFacts(observed_at=observed_at, releases=releases, splits=splits)
        dated_outcomes = []
        for unit in self.feed.units(self.scope):
            captures, refusal = collect_unit(self.feed, unit, fetch)
            dated_outcomes += outcomes(self.feed, unit, captures, refusal, run)
        return dated_outcomes

    def rows(self, *bodies, **how) -> list[Row]:
        return [outcome for outcome in self.outcomes(*bodies, **how) if isinstance(outcome, Row)]

    def reasons(self, *bodies, **how) -> list[str]:
        return [outcome.reason for outcome in self.outcomes(*bodies, **how) if isinstance(outcome, Gap)]

    def verdict(self, body, **how):
        [unit] = self.feed.units(self.scope)
        [capture, *_] = self.feed.collect(unit, self.captures(body, **how))
        return self.feed.provider.judge(capture)


@pytest.fixture(scope="session")
def answers() -> type[Answers]:
    return Answers


@dataclass
class Loopback:
    """A provider on the loopback. `first`: answers (status, body) before the fixtures; `asked`: the requests so far."""

    provider: str
    url: str = ""
    first: list[tuple[int, bytes]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    cookies: list[str] = field(default_factory=list)

    def answer(self, method: str, target: str, body: str, cookie: str) -> tuple[int, bytes, str]:
        self.asked.append(target)
        self.cookies.append(cookie)
        parts = urlsplit(target)
        if parts.path == "/":
            return 404, b"", "A1=granted"
        if parts.path == "/v1/test/getcrumb":
            return 200, b"crumb/of-tests", ""
        if self.first:
            return *self.first.pop(0), ""
        entry = bundled.find(self.provider, method, parts.path, dict(parse_qsl(parts.query)), body)
        return (404, b"{}", "") if entry is None else (entry.status, entry.body, "")


def serve(loopback: Loopback) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            status, content, cookie = loopback.answer(self.command, self.path, body, self.headers.get("Cookie", ""))
            self.send_response(status)
            if cookie:
                self.send_header("Set-Cookie", cookie)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815 - the server calls it so

        def log_message(self, *_args) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    return server


@pytest.fixture
def loopback(monkeypatch) -> Iterator[Callable[[str], Loopback]]:
    servers = []

    def play(provider: str) -> Loopback:
        played = Loopback(provider)
        servers.append(serve(played))
        played.url = f"http://127.0.0.1:{servers[-1].server_address[1]}"
        monkeypatch.setenv(f"PITLAKE_{provider.upper()}_URL", played.url)
        return played

    yield play
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def lake(tmp_path) -> Lake:
    return Lake(tmp_path / "lake")


@pytest.fixture
def client(tmp_path) -> Iterator[Callable[..., HttpClient]]:
    """Return a client of a provider that waits neither for its rate nor between attempts."""
    opened = []

    def open_client(provider, mode="live") -> HttpClient:
        fast = replace(provider, rate=(1000, 1.0))
        opened.append(HttpClient(fast, CaptureStore(tmp_path / "captures"), mode, pause=lambda _seconds: None))
        return opened[-1]

    yield open_client
    for opened_client in opened:
        opened_client.close()
