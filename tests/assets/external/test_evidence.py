"""Rows and gaps of feeds cite their own item. The rest of the response and the request's time do not matter."""

import json
from collections import defaultdict
from dataclasses import replace
from hashlib import sha256

import pytest

from assets.external import all_feeds
from assets.extraction import Gap, Row
from assets.feeds.runs import run_feed
from pitlake.clock import from_micros
from pitlake.lake.lake import Lake
from resources.http.capture import CaptureStore, answer_name
from resources.http.client import HttpClient
from tests.answers import Played, captured, gaps, happened, rows
from tests.every import every
from tests.providers.scopes import SCOPES

ITEMS = sorted(set(SCOPES) - {"web_syntheses", "call_slides"})  # their item is the whole response
WHOLE = ("the answer is", "more ", "fewer ")


def cited(outcomes):
    """Return the sorted evidence of all rows, and of the gaps that cite an item, with "row" or the gap's reason."""
    gaps = [outcome for outcome in outcomes if isinstance(outcome, Gap) and "&item=" in outcome.locator]
    return sorted([*((row.evidence, "row") for row in rows(outcomes)), *((gap.locator, gap.reason) for gap in gaps)])


WITHOUT_ROWS = {"sec_facts", "sec_fulltext_hits"}  # their filings are dated by other requests


def name_of(evidence: str) -> str:
    return evidence.partition("&item=")[2].partition("&")[0]


@pytest.mark.parametrize("name", ITEMS)
def test_a_citation_does_not_depend_on_the_rest_of_the_answer(name):
    feed, scope = all_feeds()[name], SCOPES[name]
    played = Played(feed.provider)

    def later(request):
        body = played.fetch(request).body
        spaced = body + b"\n" if not body.startswith(b"<") else body + b"<!-- later -->"
        params = (*played.capture(request).params, ("limit", "7"), ("until", "2031-01-01"))
        return replace(played.capture(request), body=spaced, sha256=sha256(spaced).hexdigest(), params=params)

    now = happened(feed, scope, played.fetch)
    assert bool(rows(now)) == (name not in WITHOUT_ROWS)
    assert cited(now) == cited(happened(feed, scope, later))
    answers = {played.capture(request).sha256 for request in played.asked}
    assert every(
        answer not in evidence for evidence, _ in cited(now) for answer in answers - {""} if "header=" not in evidence
    )


@pytest.mark.parametrize("name", sorted(set(ITEMS) - {"web_pages"}))
def test_an_item_name_identifies_a_single_key_in_its_dataset(name):
    feed = all_feeds()[name]
    if feed.naming is not None:
        pytest.skip("its source gives names that do not last, so the lake gives its own")
    keys = defaultdict(set)
    for row in rows(happened(feed, SCOPES[name], Played(feed.provider).fetch)):
        assert f"&item={name_of(row.evidence)}" in row.evidence
        keys[name_of(row.evidence)].add(tuple(str(row.values[column]) for column in feed.dataset.key))
    assert bool(keys) == (name not in WITHOUT_ROWS)
    assert [keys_of_item for keys_of_item in keys.values() if len(keys_of_item) != 1] == []


def article(number, **more):
    item = {"id": number, "created": "Thu, 01 Feb 2024 10:00:00 -0400", "title": f"Title {number}", "stocks": []}
    return item | more


def test_a_correction_changes_a_citation_and_neighbouring_items_do_not():
    feed = all_feeds()["benzinga_news"]

    def told(*items):
        body = json.dumps(items).encode()
        outcomes = happened(
            feed,
            SCOPES["benzinga_news"],
            lambda ask: captured(feed.provider, ask, body, sha256=sha256(body).hexdigest()),
        )
        return {row.values["id"]: row.evidence for row in rows(outcomes)}

    alone = told(article(7))
    assert told(article(5), article(7), article(9))["7"] == alone["7"]
    corrected = told(article(7, title="Another"))["7"]
    assert corrected != alone["7"]
    assert name_of(corrected) == name_of(alone["7"]) == "7"


def test_a_gap_and_the_row_it_becomes_cite_the_same_item():
    feed = all_feeds()["benzinga_news"]
    undated, dated = (
        happened(
            feed, SCOPES["benzinga_news"], lambda ask, at=at: captured(feed.provider, ask, json.dumps([at]).encode())
        )
        for at in (article(7, created="soon"), article(7))
    )
    assert gaps(undated)
    assert name_of(undated[0].locator) == name_of(dated[0].evidence)


def test_a_run_records_the_evidence_of_its_captures(tmp_path):
    feed, lake = all_feeds()["benzinga_news"], Lake(tmp_path / "lake")
    played, store = Played(feed.provider), CaptureStore.of(lake.root)
    outcomes = happened(feed, SCOPES["benzinga_news"], played.fetch)
    played.keep(store)
    with HttpClient(feed.provider, store, "replay") as client:
        run_feed(feed, SCOPES["benzinga_news"], client, lake, run_id="run-1")
    captures = [played.capture(request).evidence for request in played.asked]
    assert store.run("run-1", "benzinga_news")["captures"] == captures
    assert any(isinstance(outcome, Row) for outcome in outcomes)


def test_retracting_a_run_drops_the_answers_it_fetched_but_not_those_it_replayed(tmp_path):
    feed, lake = all_feeds()["benzinga_news"], Lake(tmp_path / "lake")
    played, store = Played(feed.provider), CaptureStore.of(lake.root)
    happened(feed, SCOPES["benzinga_news"], played.fetch)
    played.keep(store)
    with HttpClient(feed.provider, store, "replay") as client:
        run_feed(feed, SCOPES["benzinga_news"], client, lake, run_id="replayed")
    answers = [*store.every()]
    assert store.run("replayed", "benzinga_news")["fetched"] == []
    lake.retract("replayed", "read with a wrong parser")
    assert lake.polls("benzinga_news") == []
    assert [*CaptureStore.of(lake.root).every()] == answers
    fetched = {"fetched": [answer_name(answers[0])]}
    store.keep_run("replayed", "benzinga_news", store.run("replayed", "benzinga_news") | fetched)
    left = CaptureStore.of(lake.root)
    assert [*left.every()] == answers[1:]
    assert answers[0].fetched_at not in map(from_micros, left.instants(feed.provider.name, answers[0].request_key))
