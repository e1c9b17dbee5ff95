"""Dividends and splits of Polygon: exact amounts, pagination, and dates at the end of the day."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.feeds import dating
from pipelines.fetch import asking, operations
from pitlake.clock import NEW_YORK
from pitlake.errors import BadInput
from tests.assets.external.figures.test_figures import dividend

UTC = timezone.utc


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("recurring", "CD"), ("special", "SC"), ("supplemental", "SC"), ("irregular", "UNKNOWN"), (None, "UNKNOWN")],
)
def test_a_dividend_amount_stated_as_paid_keeps_its_date_despite_later_splits(answers, kind, expected):
    newer = dividend(distribution_type=kind, split_adjusted_cash_amount=0.125, historical_adjustment_factor=0.98)
    del newer["dividend_type"]
    feed = answers("polygon_dividends", tickers=("QAU",), options={"version": "v1"})
    unproven = {"splits": lambda _ticker, _after, _until: None}
    [row] = feed.rows({"results": [newer]}, **unproven)
    assert row.available_at == datetime(2024, 5, 3, 4, tzinfo=UTC)
    assert (row.values["cash_amount"], row.values["dividend_type"]) == (0.5, expected)
    [older] = answers("polygon_dividends", tickers=("QAU",)).rows({"results": [dividend()]}, **unproven)
    assert older.available_at > row.available_at


@pytest.mark.parametrize("kinds", [("CD", "SC"), ("SC", "CD")])
def test_dividends_of_one_day_and_amount_are_numbered_in_the_order_of_their_ids(answers, kinds):
    first, second = (dividend(id=name, dividend_type=kind) for name, kind in zip("ab", kinds, strict=True))
    for results in ([first, second], [second, first]):
        rows = answers("polygon_dividends", tickers=("QAU",)).rows({"results": results})
        assert {row.values["dividend_id"]: row.values["ordinal"] for row in rows} == {"a": 0, "b": 1}


def test_the_version_option_selects_the_endpoint_and_an_unknown_version_is_refused(answers):
    paths = []

    def fetch(request):
        paths.append(request.path)
        raise StopIteration

    for version in ("v3", "v1"):
        feed = answers("polygon_splits", tickers=("QAU",), options={"version": version})
        with pytest.raises(RuntimeError):
            list(feed.feed.collect(feed.feed.units(feed.scope)[0], fetch))
    assert paths == ["/v3/reference/splits", "/stocks/v1/splits"]
    feed = answers("polygon_splits", tickers=("QAU",), options={"version": "v2"})
    with pytest.raises(BadInput, match="there is no version 'v2'; choose from v3, v1"):
        list(feed.feed.collect(feed.feed.units(feed.scope)[0], fetch))


def test_polygon_is_queried_with_a_ticker_in_its_original_case(answers):
    preferred = answers("polygon_dividends", tickers=("BACpK ",))
    assert [unit.name for unit in preferred.feed.units(preferred.scope)] == ["BACpK"]


@pytest.mark.parametrize(
    ("source", "symbol", "requested"),
    [
        ("polygon", "BACpK", "BACpK"),
        ("massive", "BACpK", "BACpK"),
        ("polygon", "qau", "QAU"),
        ("yahoo", "brk-b", "BRK-B"),
        ("alphavantage", "BACpK", "BACPK"),
    ],
)
def test_only_polygon_symbols_keep_mixed_case(source, symbol, requested):
    op = {"yahoo": "earnings", "alphavantage": "earnings"}.get(source, "dividends")
    for names in ({"symbol": symbol}, {"tickers": symbol}):
        question = asking.read({"source": source, "op": op, **names})
        assert operations.operation(question).scope(question).tickers == (requested,)


@settings(max_examples=300, deadline=None)
@given(st.integers(946_684_800, 1_893_456_000))
def test_an_end_of_day_is_never_early_and_is_late_by_at_most_its_bound(second):
    truth = datetime.fromtimestamp(second, UTC)
    day = truth.astimezone(NEW_YORK).date()
    instant = dating.end_of_day_text(day.isoformat())
    assert truth < instant <= truth + dating.DATE_ONLY_BOUND
    assert instant - timedelta(microseconds=1) < dating.end_of_day(day + timedelta(days=1))
