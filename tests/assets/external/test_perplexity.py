"""Perplexity: days date results, the fetch dates prose, SEC results only locate, and filters use documented names."""

import json
from datetime import date, datetime, timedelta, timezone
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.external import feed
from assets.external.perplexity import _asking as asking
from assets.external.perplexity.web_syntheses import without_thoughts
from assets.extraction import RunFacts
from assets.feeds.feed import Scope
from assets.feeds.runs import run_feed
from pitlake import connect
from pitlake.clock import new_york_day
from pitlake.datasets import get
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from resources.http.capture import CaptureStore
from resources.http.client import HttpClient
from tests.answers import FETCHED, Played, captured, gaps, happened, rows

RESULTS, SYNTHESES = feed("web_results"), feed("web_syntheses")
SEARCH = Scope(queries=("phones results",))
ASK = Scope(queries=("what did phones earn?",), options={"op": "reason"})


def answered(body, scope=SEARCH, **facts):
    return happened(RESULTS, scope, lambda ask: captured(RESULTS.provider, ask, json.dumps(body).encode(), **facts))


def result(day="2024-02-01", snippet="S", **more):
    return {"url": "https://example.com/a", "title": "T", "snippet": snippet, "date": day, **more}


SPELLED = [
    ("2024-02-01T16:30:00-05:00", date(2024, 2, 1), (2, 1, 21, 30)),
    ("2024-02-02T02:30:00Z", date(2024, 2, 1), (2, 2, 2, 30)),
    ("2024-02-01T16:30:00.123Z", date(2024, 2, 1), None),
    ("2024-02-01 16:30:00+00:00", date(2024, 2, 1), (2, 1, 16, 30)),
    ("Thu, 01 Feb 2024 16:30:00 GMT", date(2024, 2, 1), (2, 1, 16, 30)),
    ("2024-02-01T04:30:00", date(2024, 2, 1), (2, 1, 16, 31)),
    ("2024-02-01", date(2024, 2, 1), (2, 2, 5, 0)),
    ("Feb 1, 2024", date(2024, 2, 1), (2, 2, 5, 0)),
]


@pytest.mark.parametrize(("spelled", "day", "claim"), SPELLED)
@pytest.mark.parametrize("field", ["date", "last_updated"])
def test_result_dates_are_read_in_every_spelling_with_or_without_a_time(spelled, day, claim, field):
    item = result(**{"day": "2024-01-15", field: spelled} if field != "date" else {"day": spelled})
    [row] = answered({"results": [item]})
    assert row.values["published_on" if field == "date" else "updated_on"] == day
    if claim:
        record = {"result": item, "place": 0, "operation": "search", "query": "q", "locator": False, "repeat": False}
        claimed = RESULTS.locate(record, RunFacts(observed_at=FETCHED)).available_at
        assert claimed == datetime(2024, *claim, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([result(snippet="S"), result(snippet="Longer")], "Longer"),
        ([result(snippet="S", day="2024-02-01"), result(snippet="Longer", day="2024-01-01")], "Longer"),
        ([result(snippet="S"), result(snippet="Longer", day=None)], "S"),
        ([result(snippet="S"), result(snippet="Longer", day="soon")], "S"),
        ([result(snippet="S"), result(snippet="S")], "S"),
    ],
)
def test_of_results_with_the_same_address_only_a_single_row_is_published(results, expected, tmp_path):
    for order in (results, results[::-1]):
        outcomes = answered({"results": order})
        assert [row.values["snippet"] for row in rows(outcomes)] == [expected]
        assert gaps(outcomes) == [("no_data", "seen again in the same run")]
    body = json.dumps({"results": results}).encode()
    lake, request = Lake(tmp_path / "lake"), asking.request("phones results", SEARCH)
    CaptureStore.of(lake.root).put(captured(RESULTS.provider, request, body))
    with HttpClient(RESULTS.provider, CaptureStore.of(lake.root), "replay") as client:
        assert run_feed(RESULTS, SEARCH, client, lake, run_id="web").outcome.total.published == 1


def test_an_earlier_capture_of_a_passage_proves_its_claimed_date(tmp_path):
    lake, request = Lake(tmp_path / "lake"), asking.request("phones results", SEARCH)
    store, claim = CaptureStore.of(lake.root), datetime(2024, 2, 2, 5, tzinfo=timezone.utc)

    def keep(at, *results):
        body = json.dumps({"results": results}).encode()
        store.put(captured(RESULTS.provider, request, body, fetched_at=at, sha256=sha256(body).hexdigest()))

    keep(claim - timedelta(hours=10), result())
    keep(claim + timedelta(days=30), result(), result(url="https://example.com/b"))
    keep(FETCHED, result(), result(url="https://example.com/b"), result(url="https://example.com/c"))
    with HttpClient(RESULTS.provider, store, "replay") as client:
        run_feed(RESULTS, SEARCH, client, lake, run_id="web")
    with connect(FETCHED, lake=lake, datasets=["web_results"]) as session:
        dated = dict(session.sql("SELECT right(url, 1), available_at FROM web_results").rows())
    assert dated == {"a": claim, "b": claim + timedelta(days=30), "c": FETCHED}


def test_sec_search_mode_gives_only_locators():
    scope = Scope(queries=("phones 10-K",), options={"search_mode": "sec"})
    [gap] = happened(RESULTS, scope, Played(RESULTS.provider).fetch)
    assert (gap.type, gap.reason, gap.available_at) == ("unverifiable", "locator only", None)
    assert "www.sec.gov/Archives/edgar/data/320193" in gap.locator


def test_only_the_search_results_of_a_chat_answer_become_rows():
    outcomes = happened(RESULTS, ASK, Played(RESULTS.provider).fetch)
    assert [(row.values["url"], row.values["operation"]) for row in rows(outcomes)] == [
        ("https://www.example.com/earned", "reason")
    ]
    assert "more than before" not in json.dumps([row.values for row in rows(outcomes)], default=str)


def test_prose_counts_from_its_fetch_and_is_for_open_mode_only():
    played = Played(SYNTHESES.provider)
    [row] = happened(SYNTHESES, ASK, played.fetch)
    assert row.values["answer"] == "They earned more than before [1]."
    assert (row.values["thoughts_removed"], row.available_at) == (1, FETCHED)
    assert get("web_syntheses").open_only
    happened(RESULTS, ASK, played.fetch)
    assert len({request.key("perplexity") for request in played.asked}) == 1


@pytest.mark.parametrize(
    ("prose", "text"),
    [
        ("<think>a</think>b", "b"),
        ("a<THINK>\nb\n</think >c", "ac"),
        ("<think>one</think>x<think>two</think>y", "xy"),
        ("<think>never closed", ""),
        ("cut off</think>rest", "rest"),
        ("plain", "plain"),
    ],
)
def test_thinking_blocks_are_stripped_from_prose(prose, text):
    assert without_thoughts(prose)[0] == text


BLOCKS = st.recursive(
    st.just("secret"),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(lambda some: f"<think>{''.join(some)}</think>"),
).map(lambda inner: f"<think>{inner}</think>")


@given(st.lists(BLOCKS | st.sampled_from(["said", " ", "</think>"]), max_size=8))
def test_no_thinking_block_survives_however_nested(parts):
    text, _ = without_thoughts("".join(parts))
    assert "secret" not in text
    assert "think>" not in text


def test_filters_use_the_official_names_and_american_dates():
    scope = Scope(
        queries=("q",),
        date_from=date(2025, 3, 1),
        date_to=date(2025, 11, 9),
        options={"search_domains": "sec.gov, -example.com", "max_results": "20"},
    )
    body = asking.request("q", scope).json
    assert body["search_after_date_filter"] == "3/1/2025"
    assert body["search_before_date_filter"] == "11/9/2025"
    assert body["search_domain_filter"] == ["sec.gov", "-example.com"]
    assert not {"search_after_date", "search_before_date"} & body.keys()


@pytest.mark.parametrize(
    ("scope", "field"),
    [
        (Scope(), "queries"),
        (Scope(queries=("q",), options={"op": "guess"}), "op"),
        (Scope(queries=("q",), options={"max_results": "21"}), "max_results"),
        (Scope(queries=("q",), options={"search_before_date": "x"}), "options"),
        (Scope(queries=("q",), options={"op": "ask", "response_format": "json"}), "response_format"),
        (Scope(queries=("q",), options={"op": "ask", "response_format": "[]"}), "response_format"),
        (Scope(queries=("q",), options={"op": "ask", "response_format": '{"a": NaN}'}), "response_format"),
        (Scope(queries=("q",), options={"op": "ask", "response_format": '{"a":' * 100_000}), "response_format"),
        (Scope(queries=("q",), options={"response_format": "{}"}), "response_format"),
        (Scope(queries=("q",), date_to=date(2025, 1, 1), options={"search_recency": "day"}), "search_recency"),
    ],
    ids=str,
)
def test_an_invalid_query_is_refused_before_any_request(scope, field):
    with pytest.raises(BadInput) as refused:
        RESULTS.units(scope)
    assert refused.value.field == field


def test_a_response_schema_shapes_the_prose_but_does_not_date_it():
    scope = Scope(queries=("q",), options={"op": "ask", "response_format": '{"type": "object"}'})
    assert asking.request("q", scope).json["response_format"] == {
        "type": "json_schema",
        "json_schema": {"schema": {"type": "object"}},
    }
    content = json.dumps({"published_at": "2009-10-20T08:00:00Z", "value": 1.82})
    body = json.dumps({"id": "a", "choices": [{"message": {"content": content}}]}).encode()
    [row] = happened(SYNTHESES, scope, lambda request: captured(SYNTHESES.provider, request, body))
    assert (row.values["answer"], row.available_at) == (content, FETCHED)


def test_a_search_scope_is_refused_for_syntheses():
    with pytest.raises(BadInput):
        SYNTHESES.units(SEARCH)


DAYS = st.dates(date(1995, 1, 1), date(2040, 1, 1))


@given(DAYS, st.none() | DAYS)
def test_a_result_is_not_public_before_its_last_stated_day_is_over(published, updated):
    result = {"url": "https://x.example", "date": str(published), "last_updated": str(updated) if updated else None}
    record = {"result": result, "place": 0, "operation": "search", "query": "q", "locator": False, "repeat": False}
    at = RESULTS.locate(record, RunFacts(observed_at=FETCHED)).available_at
    last = max(published, updated or published)
    assert new_york_day(at) == last + timedelta(days=1)
    assert new_york_day(at - timedelta(microseconds=1)) == last
