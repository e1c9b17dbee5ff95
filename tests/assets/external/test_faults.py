"""Every feed of these providers against every fault of a provider: it gives data or a typed gap, and requests nothing
twice.
"""

import json
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest

from assets.external import feed
from assets.extraction import Gap
from assets.feeds.feed import Scope
from pitlake import clock
from pitlake.gate.rules import GAP_TYPES
from resources.http.capture import CaptureStore
from resources.http.client import HttpClient
from tests.answers import FOLDER, Played, gaps, happened, rows
from tests.every import every
from tests.loopback import Answer, Loopback

QUARTER = Scope(tickers=("AAPL",), options={"quarters": "2024Q1"})
SCOPES = {
    "macro_observations": Scope(series=("GDP",)),
    "macro_panels": Scope(series=("2024-01",)),
    "benzinga_news": Scope(date_from=date(2024, 2, 1)),
    "web_results": Scope(queries=("phones results",)),
    "web_syntheses": Scope(queries=("what did phones earn?",), options={"op": "reason"}),
    "call_events": Scope(tickers=("AAPL",)),
    "call_calendar": Scope(date_from=date(2025, 2, 10)),
    "call_transcripts": QUARTER,
    "call_slides": QUARTER,
    "web_pages": Scope(queries=("https://www.prnewswire.com/releases/one",)),
}
KEYS = ("FRED_API_KEY", "BENZINGANEWS_API_KEY", "PERPLEXITY_API_KEY", "EARNINGSCALL_API_KEY")
PAGE = Answer(b"<html><body>Busy</body></html>", headers={"Content-Type": "text/html"})
AHEAD = format_datetime(datetime.now(timezone.utc) + timedelta(days=2), usegmt=True)

HANGS = Answer(fault="hang")
PASSING = {
    "429 with Retry-After": (Answer(b"", 429, {"Retry-After": "1"}),),
    "429 without": (Answer(b"", 429),),
    "503": (Answer({"message": "no peer"}, 503),),
    "a broken connection": (Answer(fault="drop"),),
    "a short answer": (Answer(b"[{", fault="short"),),
}
LASTING = {
    "429": Answer(b"", 429),
    "500": Answer(b"", 500),
    "a hanging provider": HANGS,
    "truncated JSON": Answer(b'{"events": [{"ye'),
    "an empty body": Answer(b""),
    "a page of HTML": PAGE,
    "another object": Answer({"unexpected": {"shape": 1}}),
    "a list of oddities": Answer([None, 7, "x", [], {"id": {}}]),
    "null": Answer(None),
}
FETCHED_DATES = {"web_pages", "web_results", "web_syntheses", "call_events", "call_calendar"}
# What a page holds and how a file looks is all there is to them: nothing in these answers is a fault of theirs.
UNAFFECTED = {("web_pages", "a page of HTML")}


@pytest.fixture(scope="module")
def server():
    loopback = Loopback()
    yield loopback
    loopback.close()


@pytest.fixture
def ask(server, monkeypatch, tmp_path):
    """Runs a feed in a mode against the loopback, with the bundled answers behind what the test scripts."""
    for key in KEYS:
        monkeypatch.setenv(key, "a-key-of-our-own")
    monkeypatch.setenv("PITLAKE_CONTACT", "Test test@example.com")
    server.reset()

    def run(name, *first: Answer, last: Answer | None = None, mode="live", **headers: str):
        source = feed(name)
        monkeypatch.setenv(f"PITLAKE_{source.provider.name.upper()}_URL", server.url)
        patience = 0.1 if last is HANGS else 10.0
        provider = replace(source.provider, rate=(1000, 1.0), timeout=(10.0, patience), attempts=2)
        quick = replace(source, provider=provider)
        script(server, SCOPES[name], quick, first, last, headers)
        with HttpClient(quick.provider, CaptureStore(tmp_path), mode, pause=lambda _: None) as client:
            return happened(quick, SCOPES[name], client.fetch, observed_at=clock.now() + timedelta(minutes=1))

    return run


def script(server, scope, source, first, last, headers):
    """The bundled answer of every path the scope asks for; the faults stand before, or instead of, the first one's."""
    played = Played(source.provider)
    happened(source, scope, played.fetch)
    for place, request in enumerate(played.asked):
        capture = played.capture(request)
        bundled = Answer(capture.body, capture.status, {"Content-Type": capture.headers["content-type"], **headers})
        answers = (*first, last or bundled) if place == 0 else (bundled,)
        server.plays("/" + request.path.strip("/"), *answers)


@pytest.mark.parametrize("name", SCOPES)
@pytest.mark.parametrize("fault", PASSING)
def test_a_passing_fault_costs_nothing(ask, name, fault):
    outcomes = ask(name, *PASSING[fault])
    assert rows(outcomes)
    assert not [gap for gap in gaps(outcomes) if gap[0] == "upstream_error" and gap[1] != "item has an unknown format"]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", SCOPES)
@pytest.mark.parametrize("fault", LASTING)
def test_a_lasting_fault_ends_in_typed_gaps(ask, name, fault):
    outcomes = ask(name, last=LASTING[fault])
    assert outcomes
    ended = [outcome for outcome in outcomes if isinstance(outcome, Gap)]
    assert ended or (name, fault) in UNAFFECTED
    assert every(outcome.type in GAP_TYPES and outcome.reason and outcome.locator for outcome in ended)


@pytest.mark.parametrize("name", SCOPES)
def test_what_was_captured_is_not_asked_for_again_and_replays_the_same(ask, server, name):
    outcomes = ask(name)
    requests_before = len(server.asked)
    assert ask(name) == outcomes
    assert len(server.asked) == requests_before
    server.reset()
    assert ask(name, mode="replay") == outcomes
    assert server.asked == []


# Their answers give gaps alone, and so do those of FETCHED_DATES when they are dated ahead.
WITHOUT_ROWS = {"call_calendar", "call_events", "macro_panels", "web_syntheses"}


@pytest.mark.parametrize("name", SCOPES)
def test_a_provider_whose_clock_is_ahead_shows_nothing_early(ask, name):
    right, ahead = ask(name), ask(name, mode="refresh", Date=AHEAD)
    assert len(ahead) == len(right)
    first, later = by_content(right), by_content(ahead)
    assert first or name in WITHOUT_ROWS
    assert bool(later) == (name not in WITHOUT_ROWS | FETCHED_DATES)
    assert [key for key in later if later[key] < first[key]] == []
    if name in FETCHED_DATES:
        assert {gap for gap in gaps(ahead) if gap[0] == "pit_excluded"} == {("pit_excluded", "not public yet")}


def by_content(outcomes):
    return {str(row.values.get("url", row.values)): row.available_at for row in rows(outcomes)}


def test_every_bundled_answer_is_used_by_its_index():
    for provider in {feed(name).provider.name for name in SCOPES}:
        folder = FOLDER / provider
        listed = {entry["file"] for entry in json.loads((folder / "answers.json").read_text())}
        assert listed | {"answers.json"} == {path.name for path in folder.iterdir()}
