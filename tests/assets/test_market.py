"""Prices, dividends, splits and the calendar: the close that dates them, and records without one."""

from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.extraction import Row, RunFacts
from assets.graph import all_extractors
from assets.graph.calendar import EXTRACTOR as CALENDAR
from pitlake.clock import end_of_new_york_day
from pitlake.exchange import planned

CLOSE = datetime(2024, 5, 1, 20, tzinfo=timezone.utc)


def bar(**changes):
    return {
        "date": "2024-05-01",
        "close_at": "2024-05-01 16:00:00-0400",
        "stamp": "2024-05-01 16:00:00-0400",
        "label": "Company",
        "entity_id": "0000320193",
        "symbol": "AAPL",
        "open": 169.58,
        "high": 172.71,
        "low": 169.11,
        "close": 169.3,
        "vwap": 170.4,
        "volume": 50383147.5,
        "transactions": 650000.0,
    } | changes


def dividend(**changes):
    return {
        "node": "AAPL_2024-05-01_Regular",
        "ticker": "AAPL",
        "declaration_date": "2024-05-01",
        "dividend_type": "Regular",
        "ex_dividend_date": "2024-05-10",
        "record_date": "2024-05-13",
        "pay_date": "2024-05-16",
        "cash_amount": "0.25",
        "currency": "USD",
        "frequency": "Quarterly",
        "cik": ["320193"],
        "date_nodes": [["2024-05-01", "2024-05-01 16:00:00-0400"]],
    } | changes


def split(**changes):
    return {
        "node": "QYRW_2024-05-01_1_3",
        "ticker": "QYRW",
        "execution_date": "2024-05-01",
        "split_from": "1",
        "split_to": "3",
        "cik": [],
        "date_nodes": [["2024-05-01", "2024-05-01 16:00:00-0400"]],
    } | changes


def day(**changes):
    return {
        "date": "2024-07-03",
        "is_trading_day": "1",
        "pre_market_open": "2024-07-03 04:00:00-0400",
        "market_open": "2024-07-03 09:30:00-0400",
        "market_close": "2024-07-03 13:00:00-0400",
        "post_market_close": "2024-07-03 13:00:00-0400",
        "previous_trading_date": "2024-07-02",
        "next_trading_date": "2024-07-05",
    } | changes


def outcome(name, record, run):
    extractor = all_extractors()[name]
    return extractor.normalise(next(iter(extractor.split(record))), run)


def test_a_bar_is_available_at_the_close(run):
    row = outcome("prices", bar(), run)
    assert (row.available_at, row.values["volume"]) == (CLOSE, 50383147.5)
    assert row.evidence == "neo4j:Date:2024-05-01/HAS_PRICE/Company:0000320193"


def test_the_later_of_an_early_close_and_the_stamp_counts(run):
    row = outcome("prices", bar(close_at="2024-05-01 13:00:00-0400"), run)
    assert row.available_at == CLOSE
    later_close = outcome("prices", bar(stamp="2024-05-01 13:00:00-0400"), run)
    assert later_close.available_at == CLOSE


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"close_at": None}, "no market close on that day"),
        ({"close_at": "2024-05-02 16:00:00-0400"}, "market close is on another day"),
        ({"date": "0001-01-01", "close_at": "0001-01-01T00:00:00Z"}, "no market close on that day"),
        ({"stamp": "yesterday"}, "bar stamp is unreadable"),
        ({"stamp": "2024-05-03 16:00:00-0400"}, "bar stamp is on another day"),
        ({"symbol": None}, "no symbol"),
        ({"label": "Commodity"}, "no symbol"),
        ({"open": float("nan"), "high": None, "low": None, "close": float("nan")}, "no price"),
        ({"volume": "many"}, "volume is unreadable"),
    ],
)
def test_bars_that_are_gaps(run, change, reason):
    assert outcome("prices", bar(**change), run).reason == reason


def test_nan_in_a_bar_is_null(run):
    row = outcome("prices", bar(vwap=float("nan"), stamp=None), run)
    assert (row.values["vwap"], row.available_at) == (None, CLOSE)


@pytest.mark.parametrize(("label", "kind"), [("Industry", "industry"), ("Sector", "sector"), ("MarketIndex", "index")])
def test_classes_have_bars_through_their_etf(run, label, kind):
    row = outcome("prices", bar(label=label, entity_id="OilAndGasEAndP", symbol="XLE"), run)
    assert (row.values["entity_kind"], row.values["symbol"]) == (kind, "XLE")


def test_a_dividend_is_available_at_the_end_of_the_day_of_its_declaration(run):
    row = outcome("dividends", dividend(), run)
    assert (row.available_at, row.values["cash_amount"]) == (datetime(2024, 5, 2, 4, tzinfo=timezone.utc), 0.25)
    assert row.values["ex_dividend_date"] == date(2024, 5, 10)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"date_nodes": []}, "no date node"),
        ({"date_nodes": [["2024-05-01", None]]}, "no market close on that day"),
        ({"date_nodes": [["2024-05-01", "0001-01-01 00:00:00+0000"]]}, "no market close on that day"),
        ({"date_nodes": [["2024-05-02", "2024-05-02 16:00:00-0400"]]}, "declaration date differs from its date node"),
        ({"date_nodes": [["2024-05-01", "2024-05-02 16:00:00-0400"]]}, "market close is on another day"),
        ({"cash_amount": "0"}, "amount is missing or zero"),
        ({"cash_amount": "null"}, "amount is missing or zero"),
        ({"cash_amount": "a quarter"}, "amount is missing or zero"),
        ({"ticker": None}, "no ticker"),
        ({"pay_date": "soon"}, "pay_date is unreadable"),
    ],
)
def test_dividends_that_are_gaps(run, change, reason):
    gap = outcome("dividends", dividend(**change), run)
    dated = gap.available_at is not None  # filed under the day it became public, else under its own
    assert (gap.reason, gap.day) == (reason, date(2024, 5, 2) if dated else date(2024, 5, 1))


def test_a_dividend_is_looked_for_on_the_days_before_it_counts():
    assert all_extractors()["dividends"].trail == 1


def test_a_dividend_of_no_stated_type_says_so(run):
    assert outcome("dividends", dividend(dividend_type="null"), run).values["dividend_type"] == "UNKNOWN"


@pytest.mark.parametrize("ratio", ["UNKNOWN", "null", "0", "-1", None], ids=repr)
def test_a_split_of_unknown_ratio_is_a_gap(run, ratio):
    assert outcome("splits", split(split_to=ratio), run).reason == "ratio is missing or unknown"
    assert outcome("splits", split(split_from=ratio), run).reason == "ratio is missing or unknown"


def test_a_split_keeps_fractions(run):
    row = outcome("splits", split(split_from="1,000", split_to="1,015.5"), run)
    assert (row.values["split_from"], row.values["split_to"]) == (1000.0, 1015.5)


def test_an_early_close_is_seen(run):
    row = outcome("calendar", day(), run)
    assert row.values["is_early_close"]
    assert row.available_at == datetime(2024, 7, 3, 17, tzinfo=timezone.utc)


def test_a_day_without_a_session_is_available_at_its_end(run):
    record = day(date="2024-07-04", is_trading_day="0", market_close=None)
    row = outcome("calendar", record, run)
    assert row.available_at == datetime(2024, 7, 5, 4, tzinfo=timezone.utc)
    assert (row.values["market_open"], row.values["is_early_close"]) == (None, False)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"market_close": None}, "trading day without a close"),
        ({"market_close": "2024-07-05 13:00:00-0400"}, "market close is on another day"),
        ({"is_trading_day": None}, "is_trading_day is unreadable"),
        ({"date": "someday"}, "date is unreadable"),
        ({"date": "9999-12-31", "is_trading_day": "0"}, "date is unreadable"),
        ({"date": "0001-01-01", "market_close": "0001-01-01T00:00:00Z"}, "trading day without a close"),
        ({"next_trading_date": "friday"}, "next_trading_date is unreadable"),
    ],
)
def test_days_that_are_gaps(run, change, reason):
    assert outcome("calendar", day(**change), run).reason == reason


CLOSINGS = {
    "Carter": ("2025-01-08", "2025-01-10", ["2025-01-09"]),
    "Bush": ("2018-12-04", "2018-12-06", ["2018-12-05"]),
    "Reagan": ("2004-06-10", "2004-06-14", ["2004-06-11"]),
    "Sandy": ("2012-10-26", "2012-10-31", ["2012-10-29", "2012-10-30"]),
    "the Sunday before Sandy": ("2012-10-28", "2012-10-31", ["2012-10-29", "2012-10-30"]),
    "between Sandy's days": ("2012-10-29", "2012-10-31", ["2012-10-30"]),
    "September 2001": ("2001-09-10", "2001-09-17", ["2001-09-11", "2001-09-12", "2001-09-13", "2001-09-14"]),
    "a closing that no calendar has yet": ("2031-03-04", "2031-03-06", ["2031-03-05"]),
    "the closed day itself": ("2025-01-09", "2025-01-10", []),
    "a weekend": ("2024-07-05", "2024-07-08", []),
    "a holiday by rule": ("2024-07-03", "2024-07-05", []),
    "Juneteenth before it was one": ("2021-06-17", "2021-06-18", []),
    "Juneteenth since": ("2022-06-17", "2022-06-21", []),
}


def told_of(first, following, run):
    """Every statement of a day, by when it was public: which trading day it names next."""
    open_then = date.fromisoformat(first).weekday() < 5 and first not in ("2012-10-29", "2025-01-09")
    record = day(
        date=first,
        is_trading_day="1" if open_then else "0",
        market_close=f"{first} 16:00:00-0400" if open_then else None,
        market_open=None,
        pre_market_open=None,
        post_market_close=None,
        next_trading_date=following,
    )
    return [CALENDAR.normalise(each, run) for each in CALENDAR.split(record)]


@pytest.mark.parametrize(("first", "following", "closings"), CLOSINGS.values(), ids=CLOSINGS)
def test_the_plan_of_a_day_knows_no_closing_before_it_is_over(first, following, closings):
    reply = told_of(first, following, RunFacts(observed_at=datetime(2032, 1, 1, tzinfo=timezone.utc)))
    assert [str(row.values["next_trading_date"]) for row in reply] == [*closings, following]
    assert [row.values["closed_through"] for row in reply] == [None, *map(date.fromisoformat, closings)]
    over = [end_of_new_york_day(date.fromisoformat(each)) for each in closings]
    assert [row.available_at for row in reply[1:]] == over
    assert reply[0].available_at < min(over, default=datetime.max.replace(tzinfo=timezone.utc))


@settings(max_examples=300, deadline=None)
@given(
    first=st.dates(date(1990, 1, 2), date(2199, 12, 1)),
    away=st.integers(1, 14),
    ahead=st.timedeltas(timedelta(0), timedelta(20)),
)
def test_what_a_day_tells_by_t_names_no_later_day_than_the_next_one_planned_that_t_has_not_outlived(first, away, ahead):
    following = first + timedelta(away)
    observed = datetime(2300, 1, 1, tzinfo=timezone.utc)
    rows = told_of(first.isoformat(), following.isoformat(), RunFacts(observed_at=observed))
    moment = end_of_new_york_day(first) + ahead
    public = [row for row in rows if isinstance(row, Row) and row.available_at <= moment]
    later = (first + timedelta(number) for number in range(1, away))
    still = [each for each in later if planned(each) is not None and end_of_new_york_day(each) > moment]
    for row in public[-1:]:
        assert row.values["next_trading_date"] == min([following, *still])


@pytest.mark.parametrize("following", ["2024-07-03", "2024-07-02", "2024-07-18", "2099-01-01", "0001-01-01"])
def test_a_trading_day_that_can_be_no_next_one_is_unreadable(run, following):
    reply = list(CALENDAR.split(day(next_trading_date=following)))
    assert [CALENDAR.normalise(each, run).reason for each in reply] == ["next_trading_date is unreadable"]


def test_a_day_without_a_next_one_is_told_once(run):
    (row,) = (CALENDAR.normalise(each, run) for each in CALENDAR.split(day(next_trading_date=None)))
    assert (row.values["next_trading_date"], row.values["closed_through"]) == (None, None)


def test_a_company_is_available_when_observed(run):
    record = dict.fromkeys(
        ("name", "exchange", "sector", "industry", "industry_normalized", "sector_etf", "industry_etf", "employees")
    ) | {"node": "0000320193", "cik": "320193", "ticker": "AAPL", "mkt_cap": "81,035,171,840", "shares_out": "null"}
    row = outcome("companies", record | {"fiscal_year_end_month": "9", "fiscal_year_end_day": "30"}, run)
    assert row.available_at == run.observed_at
    assert (row.values["cik"], row.values["mkt_cap"], row.values["shares_out"]) == ("0000320193", 81035171840.0, None)
    assert outcome("companies", record | {"ticker": ""}, run).reason == "no CIK or ticker"
