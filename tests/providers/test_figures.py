"""Complete runs of feeds of figures over the network: covered days, closes, cookies, pages and repeated fetches."""

import json

import pytest

from pitlake import clock, connect
from pitlake.lake.publishing import polls
from pitlake.lake.storage.store import Store
from tests.every import every
from tests.providers.conftest import run_once
from tests.providers.server import Reply


@pytest.mark.parametrize(("tickers", "polled"), [(("QACB",), {"QACB"}), ((), None)], ids=["one", "every company"])
def test_a_poll_of_the_earnings_calendar_covers_only_the_requested_companies(server, lake, tickers, polled):
    run_once("av_earnings_calendar", lake, tickers=tickers)
    [poll] = polls.read_all(Store(lake.root), "av_earnings_calendar")
    assert poll.entities == polled


def test_a_daily_bar_is_available_at_its_close_and_not_before(server, lake):
    run_once("av_daily_bars", lake, tickers=("QACB",))
    newest = "SELECT max(date) AS day FROM av_daily_bars"
    for as_of, day in (("2024-07-03T16:59:59Z", "2024-07-02"), ("2024-07-03T17:00:00Z", "2024-07-03")):
        with connect(as_of, lake=lake, datasets=["av_daily_bars"]) as session:
            assert str(session.sql(newest).arrow().to_pylist()[0]["day"]) == day


def test_yahoo_requests_carry_the_cookie_and_crumb_and_the_crumb_is_not_stored(server, lake, tmp_path):
    def grants(ask, reply):
        if ask.path == "":
            return Reply(404, b"", {"set-cookie": "A1=granted"})
        if ask.path == "v1/test/getcrumb":
            return Reply(200, b"crumb/of-tests")
        return reply if ask.number > 2 else Reply(200, b'{"quoteSummary": {"result": [], "crumb": "crumb/of-tests"}}')

    server.behave(grants)
    run_once("yahoo_upgrades", lake, tickers=("QACB",))
    assert [ask.path for ask in server.asked[:2]] == ["", "v1/test/getcrumb"]
    assert len(server.asked) == 4
    assert every(ask.params["crumb"] == "crumb/of-tests" for ask in server.asked[2:])
    assert [ask.headers.get("Cookie") for ask in server.asked[1:]] == ["A1=granted"] * 3
    assert [path for path in tmp_path.rglob("*") if path.is_file() and b"crumb/of-tests" in path.read_bytes()] == []


def test_the_next_page_is_never_requested_from_another_host(server, lake):
    split = {"ticker": "NVDA", "execution_date": "2021-07-20", "split_from": 1, "split_to": 4}
    page = {"status": "OK", "results": [split], "next_url": "https://elsewhere.example/v3/reference/splits?cursor=abc"}
    pages = iter([page, {"status": "OK", "results": []}])
    server.behave(lambda ask, reply: Reply(200, json.dumps(next(pages)).encode()))
    run_once("polygon_splits", lake, tickers=("QBRY",))
    assert (server.asked[1].path, server.asked[1].params["cursor"]) == ("v3/reference/splits", "abc")


def test_estimates_fetched_again_are_new_revisions(server, lake):
    run_once("av_estimates", lake)
    before = clock.now()
    run_once("av_estimates", lake, "second", "refresh")
    count = "SELECT count(*) FROM av_estimates_revisions"
    counts = []
    for as_of in (before, clock.now()):
        with connect(as_of, lake=lake, datasets=["av_estimates"]) as session:
            counts += session.sql(count).rows()
    assert counts == [(3,), (6,)]
