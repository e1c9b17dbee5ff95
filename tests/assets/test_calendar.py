"""The exchange's calendar: no row reveals an unscheduled closing before that closing has ended."""

from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.extraction import Row, RunFacts
from assets.graph.calendar import EXTRACTOR as CALENDAR
from pitlake.clock import end_of_new_york_day
from pitlake.exchange import planned
from tests.assets.records import day

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
    """Return the rows of a day, one for each next trading day that was expected over time."""
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
def test_a_day_shows_no_unscheduled_closing_before_that_closing_is_over(first, following, closings):
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
def test_a_day_names_the_next_trading_day_as_planned_at_each_instant(first, away, ahead):
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
def test_an_impossible_next_trading_day_is_unreadable(run, following):
    reply = list(CALENDAR.split(day(next_trading_date=following)))
    assert [CALENDAR.normalise(each, run).reason for each in reply] == ["next_trading_date is unreadable"]


def test_a_day_without_a_next_trading_day_is_a_single_row(run):
    (row,) = (CALENDAR.normalise(each, run) for each in CALENDAR.split(day(next_trading_date=None)))
    assert (row.values["next_trading_date"], row.values["closed_through"]) == (None, None)
