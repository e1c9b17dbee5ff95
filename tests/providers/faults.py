"""Faults of providers: each changes the response to a request, for the feeds selected by `applies`.

These are transport faults and refusals. test_schema_drift covers changes in the structure of responses.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

from pitlake import clock
from tests.providers.server import Ask, Fault, Reply

HTML = b"<!DOCTYPE html><html><head><title>Just a moment</title></head><body>Try again.</body></html>"
JSON = {"content-type": "application/json"}
ASKED_TO_WAIT = 7
PLAIN_TEXT = {"universe_events", "macro_panels", "web_pages", "call_slides", "av_earnings_calendar"}
CAN_BE_HTML = {"web_pages"}
PAGED = {"benzinga_news", "polygon_dividends", "sec_filings"}
CALLS_EMPTY_FALSE = {
    "av_daily_bars", "av_earnings", "av_earnings_calendar", "av_estimates", "av_intraday_bars", "av_period_bars",
    "polygon_splits", "yahoo_earnings", "yahoo_upgrades",
}  # fmt: skip


def said(payload: Any, status: int = 200) -> Reply:
    return Reply(status, json.dumps(payload).encode(), JSON)


REFUSALS = {
    "alpha_vantage": said({"Information": "Our standard API rate limit is 25 requests per day for key [x]."}),
    "polygon": said({"status": "NOT_AUTHORIZED", "message": "You are not entitled to this data."}),
    "yahoo": said({"finance": {"result": None, "error": {"code": "Unauthorized", "description": "Invalid Crumb"}}}),
    "benzinga": said({"ok": False, "errors": [{"code": "auth_failed"}]}),
    "alfred": said({"error_code": 400, "error_message": "Bad Request."}),
    "perplexity": said({"error": {"message": "refused", "type": "invalid"}}),
    "earningscall": said({"error": "not available"}),
    "sec_edgar": said({"errorType": "Timeout", "errorMessage": "Task timed out"}),
}
PAUSES = {
    "alpha_vantage": said({"Note": "Please consider spreading out your free API requests more sparingly."}),
    "polygon": said({"status": "ERROR", "error": "You've exceeded the maximum requests per minute."}),
    "benzinga": REFUSALS["benzinga"],
}
UNKNOWN = {"alpha_vantage": said({"Error Message": "Invalid API call."})}


@dataclass(frozen=True)
class Case:
    """A named fault. recovers: whether a later good response gives the undisturbed result."""

    name: str
    change: Callable[[Ask, Reply], Reply]
    recovers: Callable[[str], bool] = lambda feed: True
    applies: Callable[[str, str], bool] = lambda feed, provider: True


def always(case: Case) -> Fault:
    return case.change


def at_first(case: Case) -> Fault:
    """Return a fault that affects only the first of identical requests, and never Yahoo's cookie and crumb."""
    met: set[object] = set()

    def fault(ask: Ask, reply: Reply) -> Reply:
        if ask.what in met or ask.path in ("", "v1/test/getcrumb"):
            return reply
        met.add(ask.what)
        return case.change(ask, reply)

    return fault


def emptied(body: bytes) -> bytes:
    """Return a valid response without data: all lists are empty, or only a header line remains."""
    try:
        content = json.loads(body)
    except ValueError:
        return body.split(b"\n", 1)[0] + b"\n" if b"," in body.split(b"\n", 1)[0] else b""
    return json.dumps(_emptied(content)).encode()


def _emptied(value: Any) -> Any:
    if isinstance(value, list):
        return []
    if isinstance(value, dict):
        return {name: {} if "Time Series" in name else _emptied(inner) for name, inner in value.items()}
    return value


def _instead(replies: dict[str, Reply]) -> Callable[[Ask, Reply], Reply]:
    return lambda ask, reply: replies.get(ask.provider, reply)


def _in(replies: dict[str, Reply]) -> Callable[[str, str], bool]:
    return lambda feed, provider: provider in replies


def _clock(by: timedelta) -> Callable[[Ask, Reply], Reply]:
    def change(ask: Ask, reply: Reply) -> Reply:
        return replace(reply, headers={**reply.headers, "date": format_datetime(clock.now() + by, usegmt=True)})

    return change


def _past_the_end(ask: Ask, reply: Reply) -> Reply:
    """Return a first page that is full or refers to another page, and empty or refused later pages."""
    if ask.provider == "benzinga":
        if ask.params.get("page") != "0":
            return Reply(400, b"")
        [first, *_] = json.loads(reply.body)
        return said([{**first, "id": 1000 + number} for number in range(100)])
    if "cursor" in ask.params:
        return said({"status": "OK", "results": []})
    return Reply(404, b"<?xml version='1.0'?><Error/>") if "-submissions-" in ask.path else reply


TOO_MANY = Case("429 with Retry-After", lambda ask, reply: Reply(429, b"", {"retry-after": str(ASKED_TO_WAIT)}))
FALSE_EMPTY = Case(
    "false-empty",
    lambda ask, reply: replace(reply, body=emptied(reply.body)),
    recovers=lambda feed: feed in CALLS_EMPTY_FALSE,
)
CASES = [
    TOO_MANY,
    Case("429", lambda ask, reply: Reply(429, b"slow down")),
    Case("500", lambda ask, reply: Reply(500, b"")),
    Case("503", lambda ask, reply: Reply(503, HTML, {"content-type": "text/html"})),
    Case("timeout", lambda ask, reply: replace(reply, hold=True)),
    Case("connection broken", lambda ask, reply: replace(reply, missing=100)),
    Case(
        "truncated",
        lambda ask, reply: replace(reply, body=reply.body[: len(reply.body) // 2]),
        recovers=lambda feed: feed not in PLAIN_TEXT,
    ),
    Case(
        "HTML instead",
        lambda ask, reply: Reply(200, HTML, {"content-type": "text/html"}),
        recovers=lambda feed: feed not in CAN_BE_HTML,
    ),
    *(
        Case(f"{name} instead", lambda ask, reply, body=body: said(body), recovers=lambda feed: False)
        for name, body in {
            "another object": {"unexpected": {"shape": 1}},
            "a list of oddities": [None, 7, "x", [], {"id": {}}],
            "null": None,
        }.items()
    ),
    Case("nothing instead", lambda ask, reply: replace(reply, body=b""), recovers=lambda feed: False),
    Case("refusal in 200", _instead(REFUSALS), recovers=lambda feed: False, applies=_in(REFUSALS)),
    Case("pause in 200", _instead(PAUSES), applies=_in(PAUSES)),
    Case("unknown in 200", _instead(UNKNOWN), recovers=lambda feed: False, applies=_in(UNKNOWN)),
    FALSE_EMPTY,
    Case("past the end", _past_the_end, lambda feed: False, lambda feed, provider: feed in PAGED),
    Case("clock a day ahead", _clock(timedelta(days=1)), recovers=lambda feed: False),
    Case("clock a day behind", _clock(timedelta(days=-1))),
]
