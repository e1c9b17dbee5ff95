"""Benzinga's articles: paging, dating, revisions, and records that are not articles."""

import json
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.external import feed
from assets.extraction import RunFacts
from assets.feeds.feed import Scope
from assets.feeds.runs import run_feed
from pitlake.errors import AnswerRefused, BadInput
from pitlake.lake.lake import Lake
from resources.http.capture import CaptureStore
from resources.http.client import HttpClient
from tests.answers import FETCHED, Played, captured, gaps, happened, rows

FEED = feed("benzinga_news")
DAY = Scope(date_from=date(2024, 2, 1))
SINCE = datetime(2024, 2, 1, tzinfo=timezone.utc)


def item(number: int = 1, **changes) -> dict:
    stamp = "Thu, 01 Feb 2024 16:31:02 -0400"
    return {"id": number, "title": "Title", "body": "", "created": stamp, "updated": stamp, "stocks": []} | changes


def pages(*listing, then=None):
    """Return a fetch function that serves these pages in turn and then raises `then`, and the list of its requests."""
    requests = []

    def fetch(request):
        requests.append(dict(request.query))
        if len(requests) > len(listing):
            raise then
        return captured(FEED.provider, request, json.dumps(listing[len(requests) - 1]).encode())

    return fetch, requests


def test_paging_ends_at_a_short_page():
    fetch, requests = pages([item(n) for n in range(100)], [item(n) for n in range(100, 130)])
    assert len(rows(happened(FEED, DAY, fetch))) == 130
    assert [request["page"] for request in requests] == ["0", "1"]


def test_a_refused_page_is_a_gap_and_the_rows_before_it_remain():
    refusal = AnswerRefused("upstream_error", "page beyond the provider's window", "x")
    fetch, _ = pages([item(n) for n in range(100)], then=refusal)
    outcomes = happened(FEED, DAY, fetch)
    assert len(rows(outcomes)) == 100
    assert gaps(outcomes) == [("upstream_error", "page beyond the provider's window")]


def test_a_window_cut_short_by_the_page_limit_is_a_gap():
    fetch, _ = pages([item(n) for n in range(100)])
    outcomes = happened(FEED, Scope(date_from=date(2024, 2, 1), max_pages=1), fetch)
    assert gaps(outcomes) == [("upstream_error", "more pages than were asked for")]


def test_an_empty_day_is_no_data_and_the_bundled_refusal_is_of_a_deep_page():
    played = Played(FEED.provider)
    outcomes = happened(FEED, Scope(date_from=date(2024, 2, 3)), played.fetch)
    assert gaps(outcomes) == [("no_data", "the answer is valid and empty")]
    deep = next(entry for entry in played.entries() if entry.get("status") == 400)
    assert deep["params"]["page"] == "101"


def test_a_window_is_requested_day_by_day_and_a_delta_all_at_once():
    assert [unit.name for unit in FEED.units(Scope(date_from=date(2024, 2, 1), date_to=date(2024, 2, 3)))] == [
        "2024-02-01",
        "2024-02-02",
        "2024-02-03",
    ]
    fetch, requests = pages([])
    happened(FEED, Scope(updated_since=SINCE, tickers=("QACB", "QBAR")), fetch)
    assert (requests[0]["updatedSince"], requests[0]["tickers"]) == ("1706745600", "QACB,QBAR")


@pytest.mark.parametrize("scope", [Scope(), Scope(date_from=date(2024, 2, 2), date_to=date(2024, 2, 1))], ids=str)
def test_a_scope_without_a_start_or_with_reversed_dates_is_refused(scope):
    with pytest.raises(BadInput):
        FEED.units(scope)


def published(tmp_path, *runs):
    """Return the revisions in a lake after daily runs. The n-th run reads the n-th list of items."""
    lake = Lake(tmp_path / "lake")
    store = CaptureStore.of(lake.root)
    for count, items in enumerate(runs):
        at = FETCHED + timedelta(days=count)
        fetch, _ = pages(items)
        [unit] = FEED.units(DAY)
        for capture in FEED.collect(unit, fetch):
            store.put(replace(capture, fetched_at=at))
        with HttpClient(FEED.provider, store, "replay") as client:
            run_feed(FEED, DAY, client, lake, run_id=f"run-{count}", observed_at=at)
    files = lake.snapshot().files("benzinga_news")
    rows = [row for file in files for row in pq.read_table(file.path).to_pylist()]
    return sorted((row["available_at"], row["body"]) for row in rows)


def test_a_changed_text_is_a_revision_dated_by_its_update_and_the_first_text_remains(tmp_path):
    later = "Mon, 03 Mar 2025 16:00:00 -0400"
    texts = published(tmp_path, [item(body="first")], [item(body="second", updated=later)])
    assert texts == [
        (datetime(2024, 2, 1, 20, 31, 2, tzinfo=timezone.utc), "first"),
        (datetime(2025, 3, 3, 20, tzinfo=timezone.utc), "second"),
    ]


def test_a_text_changed_without_a_new_update_stamp_is_dated_by_its_observation(tmp_path):
    texts = published(tmp_path, [item(body="first")], [item(body="second")])
    assert texts[1] == (FETCHED + timedelta(days=1), "second")


def test_of_two_texts_with_the_same_update_time_the_longer_is_published(tmp_path):
    texts = published(tmp_path, [item(body="long text"), item(body="text")])
    assert [body for _, body in texts] == ["long text"]


TIMES = st.times().map(lambda at: at.replace(microsecond=0))
INSTANTS = st.builds(datetime.combine, st.dates(date(2000, 1, 1), date(2040, 1, 1)), TIMES)
OFFSETS = st.integers(-12 * 4, 14 * 4).map(lambda quarters: timezone(timedelta(minutes=15 * quarters)))


@given(INSTANTS, OFFSETS, INSTANTS, OFFSETS)
def test_an_article_is_dated_by_the_later_of_its_creation_and_its_update(created, offset, updated, other):
    stamps = [created.replace(tzinfo=offset), updated.replace(tzinfo=other)]
    spelled = [stamp.strftime("%a, %d %b %Y %H:%M:%S %z") for stamp in stamps]
    record = {"item": item(created=spelled[0], updated=spelled[1]), "place": 0}
    assert FEED.locate(record, RunFacts(observed_at=FETCHED)).available_at == max(stamps)
