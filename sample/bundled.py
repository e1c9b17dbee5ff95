"""The bundled answers of outside providers, in the provider's format and selected by request. Their content is invented
and cited at a host under `example`, unless the index marks an answer as real.

`sample/external/<provider>/answers.json` lists each answer: its path, the required parameters, a text in the body of a
POST, and the file. `capture_all` stores the answers that a feed will request as captures, so that the feed can be
replayed without a network.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from assets.feeds.feed import Feed, Scope
from pitlake.errors import AnswerRefused, NotCaptured
from resources.http.capture import Capture, CaptureStore, Request
from resources.http.provider import OK, Provider

JSON_HEADERS = {"content-type": "application/json"}
DEFAULT_METHOD = "GET"


@dataclass(frozen=True)
class Bundled:
    """One bundled answer."""

    body: bytes
    status: int = 200
    real: bool = False
    headers: Mapping[str, str] = field(default_factory=lambda: dict(JSON_HEADERS))


@cache
def providers() -> tuple[str, ...]:
    folders = (files("sample") / "external").iterdir()
    return tuple(sorted(folder.name for folder in folders if (folder / "answers.json").is_file()))


@cache
def _entries(provider: str) -> tuple[Mapping[str, Any], ...]:
    return tuple(json.loads((files("sample") / "external" / provider / "answers.json").read_text()))


def find(provider: str, method: str, path: str, params: Mapping[str, str], request_body: str = "") -> Bundled | None:
    """Return the answer to a request, or None. request_body: the request's body as text."""
    for entry in _entries(provider):
        if (
            entry.get("method", DEFAULT_METHOD) == method
            and entry["path"].strip("/") == path.strip("/")
            and all(params.get(name) == value for name, value in entry.get("params", {}).items())
            and entry.get("contains", "") in request_body
        ):
            body = (files("sample") / "external" / provider / entry["file"]).read_bytes()
            headers = entry.get("headers", dict(JSON_HEADERS))
            return Bundled(body, entry.get("status", 200), entry.get("real", False), headers)
    return None


def captured(provider: Provider, request: Request, fetched_at: datetime) -> Capture:
    """Return a bundled answer as the client would have captured it. Raises NotCaptured if there is none."""
    answer = find(provider.name, request.method.upper(), request.path, dict(request.query), json.dumps(request.json))
    if answer is None:
        raise NotCaptured(provider.url(request))
    invented = f"https://{provider.name.replace('_', '-')}.example/{request.path.lstrip('/')}"
    return Capture(
        source=provider.name,
        method=request.method.upper(),
        url=provider.url(request) if answer.real else invented,
        params=request.query,
        payload=request.json,
        status=answer.status,
        headers=dict(answer.headers),
        body=answer.body,
        fetched_at=fetched_at,
        sha256=sha256(answer.body).hexdigest(),
        request_key=request.key(provider.name),
    )


def capture_all(feed: Feed, scope: Scope, store: CaptureStore, fetched_at: datetime) -> int:
    """Capture every answer that a feed requests within a scope, and return their number."""
    count = 0

    def fetch(request: Request) -> Capture:
        nonlocal count
        capture = store.put(captured(feed.provider, request, fetched_at))
        count += 1
        verdict = feed.provider.judge(capture)
        if verdict != OK:
            raise AnswerRefused(verdict.gap_type, verdict.reason, capture.evidence)
        return capture

    for unit in feed.units(scope):
        try:
            for _ in feed.collect(unit, fetch):
                pass
        except AnswerRefused:
            continue  # A refusal is an answer too, and was captured.
    store.flush()
    return count
