"""Figures per share that precede a split are dated by their fetch, because providers restate their history at every
split.
"""

from datetime import date, timedelta

import pytest

from assets.external import all_feeds
from assets.splits import DATASETS, between, merged
from pitlake.clock import end_of_new_york_day
from tests.assets.external.figures.conftest import FETCHED

LONG_AGO, SINCE = date(1995, 1, 3), date(2024, 7, 8)


def on(day, ratio):
    """Return the split ratios of a lake with one recorded split."""
    return lambda _ticker, after, until: between(merged([(day, ratio)]), after, until)


@pytest.mark.parametrize("name", ["av_earnings", "yahoo_earnings"])
@pytest.mark.parametrize(("day", "ratio", "since"), [(LONG_AGO, 10.0, False), (SINCE, 10.0, True), (SINCE, None, True)])
def test_earnings_per_share_count_from_their_fetch_after_a_split(answers, name, day, ratio, since):
    source = answers(name, tickers=("QACB",))
    plain, rows = source.rows(), source.rows(splits=on(day, ratio))
    assert any(row.available_at < FETCHED for row in plain)
    expected = [max(FETCHED, row.available_at) if since else row.available_at for row in plain]
    assert [row.available_at for row in rows] == expected


def test_earnings_reported_after_a_split_keep_their_date(answers):
    source = answers("av_earnings", tickers=("QACB",))
    plain, rows = source.rows(), source.rows(splits=on(date(2024, 4, 1), 10.0))
    early = [row.available_at for row in rows if row.available_at < FETCHED]
    assert early == [row.available_at for row in plain if row.values["reported_date"] >= date(2024, 4, 1)]
    assert 0 < len(early) < len(rows)
    assert {row.evidence.rpartition("=")[2] for row in rows} == {"end_of_day", "split_since"}


@pytest.mark.parametrize(("name", "column"), [("av_earnings", "reported_date"), ("yahoo_earnings", "event_date")])
def test_earnings_reported_on_the_eve_of_a_split_count_from_their_fetch(answers, name, column):
    """The report is public from midnight on, but the shares are split only at the next morning's open."""
    source = answers(name, tickers=("QACB",))
    eve = max(row.values[column] for row in source.rows() if row.available_at < FETCHED)
    for days, counted in ((1, FETCHED), (0, None)):
        rows = source.rows(splits=on(eve + timedelta(days=days), 10.0))
        plain = next(row.available_at for row in source.rows() if row.values[column] == eve)
        assert {row.available_at for row in rows if row.values[column] == eve} == {counted or plain}


@pytest.mark.parametrize(
    ("day", "since"), [(date(2020, 7, 30), False), (date(2020, 7, 31), True), (date(2020, 8, 31), True)]
)
def test_a_dividend_counts_from_its_fetch_after_a_split(answers, day, since):
    record = {
        "ticker": "AAA", "cash_amount": 0.205, "declaration_date": "2020-07-30", "dividend_type": "CD",
        "ex_dividend_date": "2020-08-07", "frequency": 4,
    }  # fmt: skip
    source = answers("polygon_dividends", tickers=("AAA",))
    (plain,), (row,) = (source.rows({"results": [record]}, **more) for more in ({}, {"splits": on(day, 4.0)}))
    assert row.available_at == (FETCHED if since else plain.available_at)
    assert plain.available_at == end_of_new_york_day(date(2020, 7, 30))


@pytest.mark.parametrize("name", ["av_earnings", "polygon_dividends", "yahoo_earnings", "yahoo_upgrades"])
def test_feeds_of_per_share_figures_run_after_the_feeds_of_splits(name):
    assert {*DATASETS} <= {*all_feeds()[name].after}


def test_a_rating_with_a_price_target_counts_from_its_fetch_after_a_split(answers):
    rows = answers("yahoo_upgrades", tickers=("QACB",)).rows(splits=on(SINCE, 10.0))
    targets = [any(row.values[name] for name in ("current_price_target", "prior_price_target")) for row in rows]
    assert [row.available_at == FETCHED for row in rows] == targets
    assert any(targets)
