"""The requests of a sync to its sources: the watch list, the days of a scope, and tickers that are due again."""

from datetime import date, timedelta

import pytest

from assets.external import feed
from assets.feeds.replaying import first_request
from pipelines.sync import run, sources
from pipelines.sync.run import Asked
from pitlake import clock
from pitlake.lake.storage.watch_list import WatchList
from resources.http.capture import CaptureStore
from resources.http.client import captured

TODAY = date(2026, 3, 2)
STEPS = {step.dataset: step for step in sources.STEPS}
WATCHED = WatchList(companies={"0000001000": ("TKA", "TKB")}, since=date(2025, 11, 3))


@pytest.mark.parametrize(
    ("choice", "series"),
    [(Asked(series=("DGS2",)), ("DGS2",)), (Asked(), sources.DEFAULT_SERIES)],
    ids=["named", "default"],
)
def test_the_default_series_are_watched_if_none_is_named(lake, monkeypatch, choice, series):
    monkeypatch.setenv("FRED_API_KEY", "planted-fred-key")
    assert run._watched(lake, choice).series == series


def test_news_is_requested_from_the_first_watched_day_until_today():
    scope = STEPS["benzinga_news"].scope(WATCHED, TODAY)
    assert (scope.tickers, scope.date_from, scope.date_to) == (("TKA", "TKB"), date(2025, 11, 3), TODAY)


def test_news_is_requested_from_2009_on_if_no_first_day_is_watched():
    scope = STEPS["benzinga_news"].scope(WatchList(companies=WATCHED.companies), TODAY)
    assert scope.date_from == date(2009, 1, 1)


@pytest.mark.parametrize(
    ("hours", "due"),
    [
        ({}, ["TKA", "TKB"]),
        ({"TKA": [50, 1]}, ["TKB"]),
        ({"TKA": [1], "TKB": [50, 30]}, ["TKB"]),
        ({"TKA": [50]}, ["TKA", "TKB"]),
    ],
)
def test_a_ticker_answered_within_a_day_is_not_due_again(lake, hours, due):
    """hours: the age in hours of the responses about each ticker."""
    step, source = STEPS["polygon_splits"], feed("polygon_splits")
    scope = step.scope(WATCHED, TODAY)
    for unit in source.units(scope):
        for age in hours.get(unit.name, ()):
            at = clock.now() - timedelta(hours=age)
            answer = captured(source.provider, first_request(source, unit), b"{}", fetched_at=at)
            CaptureStore.of(lake.location).put(answer)
    assert [unit.name for unit in run._stale(lake, step, source, scope)] == due
