"""Bars of Alpha Vantage are dated by the close or by their end, also on early closes and clock changes."""

from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.external.alpha_vantage.av_intraday_bars import INTERVALS, STAMP, start_of
from assets.extraction import Gap
from pitlake.clock import MICROSECOND, NEW_YORK
from pitlake.exchange import planned, session, session_by
from tests.every import every

UTC = timezone.utc
EPOCH_2000, EPOCH_2030 = 946_684_800, 1_893_456_000
HEAD = "timestamp,open,high,low,close,volume\n"


WEEKS = [
    ("2024-07-05", "2024-07-01", "2024-07-05T20:00:00", "an ordinary week"),
    ("2024-03-28", "2024-03-25", "2024-03-28T20:00:00", "Good Friday"),
    ("2023-11-24", "2023-11-20", "2023-11-24T18:00:00", "an early close"),
    ("2001-09-10", "2001-09-10", "2001-09-14T13:30:00", "sessions called off: over when the last did not open"),
    ("2024-06-30", "2024-06-24", "2024-06-28T20:00:00", "called by its Sunday"),
]
MONTHS = [
    ("2024-06-28", "2024-06-01", "2024-06-28T20:00:00", "ends on a Friday"),
    ("2024-03-28", "2024-03-01", "2024-03-28T20:00:00", "ends on Good Friday"),
    ("2024-02-29", "2024-02-01", "2024-02-29T21:00:00", "a leap year"),
    ("2012-10-31", "2012-10-01", "2012-10-31T20:00:00", "after a storm"),
]


@pytest.mark.parametrize(
    ("period", "stamp", "first", "over", "_why"),
    [("week", *case) for case in WEEKS] + [("month", *case) for case in MONTHS],
    ids=[case[-1] for case in (*WEEKS, *MONTHS)],
)
def test_a_weekly_or_monthly_bar_is_available_once_its_last_session_is_over(answers, period, stamp, first, over, _why):
    bars = answers("av_period_bars", tickers=("QAU",), options={"period": period})
    [row] = bars.rows(f"{HEAD}{stamp},1,1,1,1,1")
    assert row.available_at == datetime.fromisoformat(over).replace(tzinfo=UTC)
    assert (row.values["period"], row.values["period_start"]) == (period, date.fromisoformat(first))
    assert session(row.values["last_session"]) is not None


def test_weekly_and_monthly_bars_of_one_day_are_two_rows(answers):
    periods = [answers("av_period_bars", tickers=("QACB",), options={"period": period}) for period in ("week", "month")]
    keys = {(row.values["period"], str(row.values["period_start"])) for source in periods for row in source.rows()}
    assert keys == {
        ("week", "2024-07-01"), ("week", "2024-06-24"), ("week", "2024-03-25"), ("month", "2024-06-01"),
        ("month", "2024-05-01"),
    }  # fmt: skip


def test_an_intraday_bar_is_available_at_its_end_in_every_session(answers):
    rows = answers("av_intraday_bars", tickers=("QACB",)).rows()
    sessions = {row.values["bar_start"].astimezone(NEW_YORK).strftime("%H:%M"): row for row in rows}
    assert {at: row.values["market_session"] for at, row in sessions.items()} == {
        "04:00": "pre_market", "09:25": "pre_market", "09:30": "in_market", "12:55": "in_market",
        "13:00": "post_market", "16:55": "post_market",
    }  # fmt: skip
    assert sessions["12:55"].available_at == datetime(2024, 7, 3, 17, tzinfo=UTC)
    assert every(row.available_at - row.values["bar_start"] == timedelta(minutes=5) for row in rows)


@pytest.mark.parametrize("stamp", ["2024-01-05 19:55:00", "2024-01-12 19:55:00", "2024-07-03 19:59:00"])
def test_an_evening_bar_belongs_to_its_new_york_day_not_its_utc_day(answers, stamp):
    bars = answers("av_intraday_bars", tickers=("QACB",))
    [(outcome, day)] = bars.dated(f"{HEAD}{stamp},1,1,1,1,1")
    assert (outcome.values["market_session"], day) == ("post_market", date.fromisoformat(stamp[:10]))
    months = answers("av_intraday_bars", tickers=("QAU",), date_from=date(2024, 5, 1), date_to=date(2024, 6, 1))
    twice = months.dated(*(f"{HEAD}{stamp},1,1,1,{close},1" for close in (1, 2)))
    assert [(gap.reason, day) for gap, day in twice if isinstance(gap, Gap)] == [("stated twice", day)]


def test_intraday_bars_are_requested_month_by_month_and_unadjusted(answers):
    bars = answers("av_intraday_bars", tickers=("QACB",), date_from=date(2023, 12, 5), date_to=date(2024, 1, 2))
    [unit] = bars.feed.units(bars.scope)
    requests = [dict(capture.params) for capture in bars.feed.collect(unit, bars.captures())]
    assert [params["month"] for params in requests] == ["2023-12", "2024-01"]
    assert {(params["adjusted"], params["extended_hours"]) for params in requests} == {("false", "true")}


@settings(max_examples=300, deadline=None)
@given(
    st.integers(EPOCH_2000, EPOCH_2030).map(lambda second: datetime.fromtimestamp(second, UTC).replace(tzinfo=None)),
    st.sampled_from(list(INTERVALS.values())),
    st.sampled_from([0, 1]),
    st.booleans(),
)
def test_no_bar_is_available_early_whether_its_time_is_its_start_or_its_end(naive, length, fold, time_is_the_end):
    instant = naive.replace(tzinfo=NEW_YORK, fold=fold).astimezone(UTC)
    truth = instant if time_is_the_end else instant + length
    available_at = start_of(naive.strftime(STAMP)) + length
    assert truth <= available_at <= truth + length + timedelta(hours=1)


@settings(max_examples=300, deadline=None)
@given(st.dates(date(1990, 1, 1), date(2029, 12, 31)))
def test_sessions_lie_within_their_new_york_day(day):
    hours = session(day)
    if hours is None:
        return
    opens, closes = (moment.astimezone(NEW_YORK) for moment in hours)
    assert opens.date() == closes.date() == day
    assert closes.strftime("%H:%M") in {"13:00", "16:00"} or day.year < 2000
    assert day.weekday() < 5


@pytest.mark.parametrize(
    ("day", "is_known"),
    [(date(1989, 12, 29), False), (date(1990, 1, 2), True), (date(2199, 12, 31), True), (date(2200, 1, 2), False)],
)
def test_sessions_are_known_from_1990_to_2199(day, is_known):
    assert (session(day) is not None) == is_known


def test_a_session_that_is_called_off_counts_as_planned_until_its_opening_time():
    mourning, plan = date(2025, 1, 9), planned(date(2025, 1, 9))
    assert (session_by(mourning, plan.open - MICROSECOND), session_by(mourning, plan.open)) == (plan, None)
    hours, weekend = session(date(2025, 1, 10)), date(2025, 1, 11)
    assert session_by(date(2025, 1, 10), hours.open) == session_by(date(2025, 1, 10), hours.open - MICROSECOND) == hours
    assert session_by(weekend, hours.open) is None


def test_an_unscheduled_early_close_is_not_known_before_it_happens():
    day = date(2003, 12, 26)
    hours, plan = session(day), planned(day)
    assert hours.close < plan.close
    assert (session_by(day, hours.close - MICROSECOND), session_by(day, hours.close)) == (plan, hours)
