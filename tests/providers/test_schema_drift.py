"""Schema drift: every field of every bundled response is removed, renamed, repeated, or changed in type, value or
neighbours.

After any change to one field, the response becomes rows that pass the gate and typed gaps, never an exception.
A record with an unchanged container still becomes a row or a gap.
"""

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timezone
from hashlib import sha256
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.external import all_feeds
from assets.extraction import Gap, Row, RunFacts
from assets.feeds.runs import collect_unit, outcomes
from pitlake.errors import AnswerRefused
from resources.http.capture import Capture
from sample import bundled
from tests.providers.conftest import Accepted
from tests.providers.scopes import SCOPES
from tests.providers.test_faults import is_sound

FETCHED = datetime(2025, 3, 3, 15, tzinfo=timezone.utc)
ODD = {"null": None, "true": True, "a number": 7.5, "a word": "x", "an object": {"raw": 1}, "a list": ["x"]}
"""Values that replace a list or an object."""
KINDS = ("gone", "renamed", "retyped", "strange", "repeated", "joined", *ODD)
STRANGE = (None, True, 0, -1, 7.5, 10**30, "", "x", "2024-02-30", "20240501", " 2024-05-01 ", [], ["x"], {}, {"raw": 1})
Change = Callable[[bytes], bytes]


def changed(value: Any, name: str, kind: str) -> Any:
    """Return a JSON value in which all fields of that name are changed."""
    if isinstance(value, list):
        return [changed(inner, name, kind) for inner in value]
    if not isinstance(value, dict):
        return value
    rest = {key: changed(inner, name, kind) for key, inner in value.items() if key != name}
    if name not in value or kind == "gone":
        return rest
    was = value[name]
    if kind == "renamed":
        return rest | {f"{name}_v2": was}
    if kind in ("repeated", "joined"):
        return rest | {name: [*(was[:1] if kind == "repeated" else [7]), *was] if isinstance(was, list) else was}
    if kind in ODD:
        return rest | {name: ODD[kind] if isinstance(was, list | dict) else was}
    strange = STRANGE[crc32(name.encode()) % len(STRANGE)]
    scalar = {"value": was} if isinstance(was, (str, int, float, bool, type(None))) else str(was)
    return rest | {name: strange if kind == "strange" else scalar}


def names(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(names, value))
    return set(value).union(*map(names, value.values())) if isinstance(value, dict) else set()


def changes(body: bytes) -> Iterator[tuple[str, Change]]:
    """Yield all changes to all fields of a body: JSON properties, or columns of lines."""
    try:
        content = json.loads(body)
    except ValueError:
        yield from column_changes(body)
        return
    for name in sorted(names(content)):
        for kind in KINDS:
            if (drifted := changed(content, name, kind)) != content:
                yield f"{name} {kind}", lambda _, drifted=drifted: json.dumps(drifted).encode()


def column_changes(body: bytes) -> Iterator[tuple[str, Change]]:
    lines = list(csv.reader(io.StringIO(body.decode("utf-8", "replace"))))
    header = lines[0] if lines and len(lines[0]) > 2 else []
    for place, name in enumerate(header):
        for kind in KINDS[:3]:
            reply = [[*line[:place], *cell(line[place:], kind, first=not row), *line[place + 1 :]]
                    for row, line in enumerate(lines)]  # fmt: skip
            yield f"{name} {kind}", lambda _, message=reply: written(message)


def cell(rest: list[str], kind: str, *, first: bool) -> list[str]:
    if kind == "gone" or not rest:
        return []
    if kind == "renamed":
        return [f"{rest[0]}_v2"] if first else [rest[0]]
    return [rest[0]] if first else ["{}"]


def written(lines: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(lines)
    return text.getvalue().encode()


def outcomes_with_change(
    name: str, which: int = -1, change: Change | None = None
) -> tuple[list[Row | Gap], list[Capture]]:
    """Return the outcomes and captures of a feed on its bundled responses, with response `which` changed."""
    feed, came, result = all_feeds()[name], [], []

    def fetch(request):
        capture = bundled.captured(feed.provider, request, FETCHED)
        if len(came) == which and change is not None:
            body = change(capture.body)
            capture = replace(capture, body=body, sha256=sha256(body).hexdigest())
        came.append(capture)
        verdict = feed.provider.judge(capture)
        if verdict.outcome != "ok":
            raise AnswerRefused(verdict.gap_type, verdict.reason, capture.evidence)
        return capture

    for unit in feed.units(SCOPES[name]):
        captures, refusal = collect_unit(feed, unit, fetch)
        run = RunFacts(observed_at=FETCHED, releases=Accepted())
        result += [outcome for outcome, _ in outcomes(feed, unit, captures, refusal, run)]
    return result, came


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", all_feeds())
def test_a_changed_field_gives_rows_or_typed_gaps(name):
    feed = all_feeds()[name]
    usual, captures = outcomes_with_change(name)
    is_sound(feed, usual)
    tried = 0
    for which, capture in enumerate(captures):
        for what, change in changes(capture.body):
            result, _ = outcomes_with_change(name, which, change)
            is_sound(feed, result)
            whole = [each for each in result if isinstance(each, Gap) and each.type == "upstream_error"]
            assert whole or len(result) >= min(len(usual), 1), what
            tried += 1
    assert tried > 5 or name in {"call_slides", "universe_events", "web_pages"}


@pytest.mark.parametrize(
    ("name", "field", "reason"),
    [
        ("av_earnings", "reportedDate", "no reported date"),
        ("benzinga_news", "created", "created is missing or unreadable"),
        ("polygon_dividends", "declaration_date", "no declaration date"),
        ("web_results", "date", "no publication date"),
        ("yahoo_upgrades", "epochGradeDate", "grade date is missing or unreadable"),
    ],
)
def test_a_missing_date_field_gives_gaps_and_no_rows(name, field, reason):
    _, captures = outcomes_with_change(name)
    content = json.loads(captures[0].body)
    result, _ = outcomes_with_change(name, 0, lambda _: json.dumps(changed(content, field, "gone")).encode())
    assert reason in {each.reason for each in result if isinstance(each, Gap)}
    first = {each.evidence.split("&item")[0] for each in result if isinstance(each, Row)}
    assert not any(evidence.endswith(sha256(captures[0].body).hexdigest()) for evidence in first)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", all_feeds())
@settings(max_examples=20)
@given(st.data())
def test_a_corrupted_answer_gives_rows_or_typed_gaps(name, data):
    _, captures = outcomes_with_change(name)
    which = data.draw(st.integers(0, len(captures) - 1))
    body = captures[which].body
    cut, length = data.draw(st.integers(0, len(body))), data.draw(st.integers(0, 12))
    torn = body[:cut] + data.draw(st.sampled_from((b"", b",", b"\n", b'"', b"x"))) + body[cut + length :]
    result, _ = outcomes_with_change(name, which, lambda _: torn)
    is_sound(all_feeds()[name], result)
