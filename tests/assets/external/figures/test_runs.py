"""Whole runs over loopback servers: captured, published, asked as of an instant, replayed without the network."""

import json
from datetime import datetime, timezone

import pytest

from assets.external import all_feeds
from assets.feeds.feed import Scope
from assets.feeds.runs import run_feed
from pitlake import connect
from pitlake.lake.publishing import polls
from pitlake.lake.publishing.publish import Published
from pitlake.lake.storage.store import Store
from tests.every import every

UTC = timezone.utc
KEY = "planted-key-of-tests"
FEEDS = {
    "av_daily_bars": ("AAPL", "KO"),
    "av_period_bars": ("AAPL",),
    "av_intraday_bars": ("AAPL",),
    "av_earnings": ("AAPL",),
    "av_estimates": ("AAPL",),
    "av_earnings_calendar": ("AAPL",),
    "yahoo_earnings": ("AAPL",),
    "yahoo_upgrades": ("AAPL",),
    "polygon_dividends": ("KO",),
    "polygon_splits": ("NVDA",),
}


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name in ("ALPHAVANTAGE_API_KEY", "POLYGON_API_KEY"):
        monkeypatch.setenv(name, KEY)


def run(name, tickers, client, lake, run_id="first"):
    report = run_feed(all_feeds()[name], Scope(tickers=tickers), client, lake, run_id=run_id)
    assert isinstance(report.outcome, Published), report.outcome
    return report


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "tickers"), FEEDS.items(), ids=FEEDS)
def test_a_run_publishes_and_its_replay_changes_nothing(loopback, client, lake, name, tickers):
    provider = all_feeds()[name].provider
    played = loopback(provider.name)
    first = run(name, tickers, client(provider), lake)
    requests_before = len(played.asked)
    again = run(name, tickers, client(provider, "replay"), lake, run_id="again")
    assert first.outcome.total.published > 0
    assert (again.outcome.total.unchanged, again.outcome.changed) == (first.outcome.total.published, False)
    assert len(played.asked) == requests_before, "a replay sends no request"


@pytest.mark.parametrize(("tickers", "polled"), [(("AAPL",), {"AAPL"}), ((), None)], ids=["one", "every company"])
def test_a_poll_of_one_company_s_calendar_is_none_of_the_others(loopback, client, lake, tickers, polled):
    loopback("alpha_vantage")
    run("av_earnings_calendar", tickers, client(all_feeds()["av_earnings_calendar"].provider), lake)
    [poll] = polls.read_all(Store(lake.root), "av_earnings_calendar")
    assert poll.entities == polled


def test_bars_are_there_at_their_close_and_not_before(loopback, client, lake):
    feed = all_feeds()["av_daily_bars"]
    loopback("alpha_vantage")
    run("av_daily_bars", ("AAPL",), client(feed.provider), lake)
    newest = "SELECT max(date) AS day FROM av_daily_bars"
    for as_of, day in (("2024-07-03T16:59:59Z", "2024-07-02"), ("2024-07-03T17:00:00Z", "2024-07-03")):
        with connect(as_of, lake=lake, datasets=["av_daily_bars"]) as session:
            assert str(session.sql(newest).arrow().to_pylist()[0]["day"]) == day


def test_a_false_empty_answer_and_a_full_second_are_asked_again(loopback, client, lake):
    feed = all_feeds()["av_earnings"]
    played = loopback("alpha_vantage")
    empty = json.dumps({"symbol": "AAPL", "annualEarnings": [], "quarterlyEarnings": []}).encode()
    played.first = [(200, empty), (200, b'{"Information": "more sparingly (1 request per second)"}')]
    assert run("av_earnings", ("AAPL",), client(feed.provider), lake).outcome.total.published == 5
    assert len(played.asked) == 3


def test_an_answer_that_stays_empty_is_a_gap(loopback, client, lake):
    feed = all_feeds()["av_estimates"]
    loopback("alpha_vantage").first = [(200, b"{}")] * feed.provider.attempts
    report = run("av_estimates", ("AAPL",), client(feed.provider), lake)
    assert dict(report.gaps) == {("no_data", "no data"): 1}


def test_a_key_in_a_refusal_is_stored_nowhere(loopback, client, lake, tmp_path):
    feed = all_feeds()["av_earnings"]
    message = f"We have detected your API key as {KEY} and our limit is 25 requests per day."
    loopback("alpha_vantage").first = [(200, json.dumps({"Information": message}).encode())]
    report = run("av_earnings", ("AAPL",), client(feed.provider), lake)
    assert dict(report.gaps) == {("upstream_error", "daily limit reached"): 1}
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []


def test_yahoo_is_asked_with_the_cookie_and_the_crumb_it_gave(loopback, client, lake, tmp_path):
    feed = all_feeds()["yahoo_upgrades"]
    played = loopback("yahoo")
    played.first = [(200, b'{"quoteSummary": {"result": [], "crumb": "crumb/of-tests"}}')]
    run("yahoo_upgrades", ("AAPL",), client(feed.provider), lake)
    assert [target.split("?")[0] for target in played.asked[:2]] == ["/", "/v1/test/getcrumb"]
    assert every("crumb=crumb%2Fof-tests" in target for target in played.asked[2:])
    assert played.cookies[1:] == ["A1=granted"] * 3
    assert [path for path in tmp_path.rglob("*") if path.is_file() and b"crumb/of-tests" in path.read_bytes()] == []


def test_another_page_is_never_asked_of_another_host(loopback, client, lake):
    feed = all_feeds()["polygon_splits"]
    played = loopback("polygon")
    page = {"status": "OK", "results": [], "next_url": "https://elsewhere.example/v3/reference/splits?cursor=abc"}
    page["results"] = [{"ticker": "NVDA", "execution_date": "2021-07-20", "split_from": 1, "split_to": 4}]
    played.first = [(200, json.dumps(page).encode()), (200, b'{"status": "OK", "results": []}')]
    run("polygon_splits", ("NVDA",), client(feed.provider), lake)
    assert played.asked[1] == "/v3/reference/splits?cursor=abc"


def test_estimates_fetched_later_are_statements_of_their_own(loopback, client, lake):
    feed = all_feeds()["av_estimates"]
    loopback("alpha_vantage")
    run("av_estimates", ("AAPL",), client(feed.provider), lake)
    before = datetime.now(UTC)
    run("av_estimates", ("AAPL",), client(feed.provider, "refresh"), lake, run_id="second")
    count = "SELECT count(*) AS n FROM av_estimates_revisions"
    counts = []
    for as_of in (before, datetime.now(UTC)):
        with connect(as_of, lake=lake, datasets=["av_estimates"]) as session:
            counts.append(session.sql(count).arrow().to_pylist()[0]["n"])
    assert counts == [3, 6]
