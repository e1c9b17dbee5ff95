"""Earnings, estimates and the calendar of Alpha Vantage: dated by the filing, by the day's end, or by the fetch."""

from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.external.alpha_vantage.av_earnings import public_at
from assets.feeds import dating
from pitlake.clock import end_of_new_york_day, new_york_day

UTC = timezone.utc
FETCHED = datetime(2024, 7, 9, 12, tzinfo=UTC)


class Filed:
    """Releases of one ticker: the given acceptances, by New York day."""

    def __init__(self, *accepted: datetime) -> None:
        self._accepted = {new_york_day(at): at for at in accepted}

    def release(self, accession_no, cik, filing_date=None):
        return None

    def __call__(self, ticker, day):
        return self._accepted.get(day)

    def silent_around(self, ticker, day):
        return False


def by_period(rows):
    return {(row.values["period_type"], row.values["fiscal_date_ending"].isoformat()): row for row in rows}


def test_quarters_are_public_at_the_end_of_their_day_and_years_with_their_quarter(answers):
    rows = by_period(answers("av_earnings", tickers=("QACB",)).rows())
    assert rows["quarter", "2024-03-31"].available_at == datetime(2024, 4, 26, 4, tzinfo=UTC)
    assert rows["quarter", "2024-03-31"].evidence.endswith("&item=QACB/quarter/2024-03-31&dated_by=end_of_day")
    assert rows["year", "2023-09-30"].available_at == rows["quarter", "2023-09-30"].available_at
    assert (rows["year", "2023-09-30"].values["reported_eps"], len(rows)) == (6.12, 5)


def test_the_filing_of_the_day_dates_its_report(answers):
    accepted = datetime(2024, 4, 25, 20, 7, 57, tzinfo=UTC)
    rows = by_period(answers("av_earnings", tickers=("QACB",)).rows(releases=Filed(accepted)))
    assert rows["quarter", "2024-03-31"].available_at == accepted
    assert rows["quarter", "2024-03-31"].evidence.endswith("&dated_by=8-K")


def test_what_is_not_reported_or_not_dated_is_a_gap(answers):
    gaps = [outcome for outcome in answers("av_earnings", tickers=("QACB",)).outcomes() if hasattr(outcome, "reason")]
    assert [(gap.locator.rsplit("item=QACB/")[1], gap.type, gap.reason) for gap in gaps] == [
        ("quarter/2024-06-30", "no_data", "no reported figure"),
        ("quarter/2023-03-31", "unverifiable", "no reported date"),
        ("year/2024-03-31", "no_data", "fiscal year is not over"),
        ("year/2022-09-30", "unverifiable", "no quarter ends with the year"),
    ]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"fiscalDateEnding": None}, "no fiscal period end"),
        ({"fiscalDateEnding": "2024-05-31"}, "reported before its period ended"),
        ({"reportedEPS": "1,53x"}, "reported_eps is unreadable"),
        ({"surprise": ["0.1"]}, "surprise is unreadable"),
        ({"reportTime": 7}, "report_time is unreadable"),
        ({"reportedDate": "2026-04-25"}, "not public yet"),
        ({"reportedDate": "1970-01-01", "fiscalDateEnding": "1970-01-01"}, "no reported date"),
        ({"reportedDate": "2924-01-24"}, "not public yet"),
        ({"reportedDate": "9998-12-30"}, "not public yet"),
        ({"reportedDate": "9999-12-31"}, "no reported date"),
    ],
)
def test_a_broken_quarter_is_a_gap_of_its_own(answers, changes, reason):
    quarter = {"fiscalDateEnding": "2024-03-31", "reportedDate": "2024-04-25", "reportedEPS": "1.53"} | changes
    answer = {"quarterlyEarnings": [quarter], "annualEarnings": []}
    assert answers("av_earnings", tickers=("QACB",)).reasons(answer, releases=Filed()) == [reason]


def test_one_quarter_told_twice_keeps_the_first(answers):
    quarter = {"fiscalDateEnding": "2024-03-31", "reportedDate": "2024-04-25", "reportedEPS": "1.53"}
    answer = {"quarterlyEarnings": [quarter, quarter, quarter | {"reportedEPS": "9"}], "annualEarnings": []}
    earnings = answers("av_earnings", tickers=("QACB",))
    assert [row.values["reported_eps"] for row in earnings.rows(answer)] == [1.53, 1.53]
    assert earnings.reasons(answer) == ["stated twice"]


DAYS = st.dates(date(2000, 1, 1), date(2027, 12, 31))


@settings(max_examples=400, deadline=None)
@given(DAYS, st.integers(0, 86_399), st.sampled_from(["pre-market", "post-market", "None"]), st.sampled_from([0, 1]))
def test_no_report_is_early_when_its_day_is_right_or_a_day_early(day, second, session, days_late):
    """The truth lies on the stated day, or on the next one if the lake has the filing that shows it."""
    start = end_of_new_york_day(day + timedelta(days=days_late - 1))
    truth = start + timedelta(seconds=second * 82_800 // 86_400)
    filed = Filed(truth) if days_late or second % 2 else None
    if filed and session == "post-market" and truth < start + timedelta(hours=17):
        session = "pre-market"
    available_at, _rule = public_at("QACB", day, session, filed)
    assert truth <= available_at <= truth + dating.DATE_ONLY_BOUND


def test_a_filing_before_the_close_does_not_date_what_came_after_it():
    morning = datetime(2024, 4, 25, 12, tzinfo=UTC)
    assert public_at("QACB", date(2024, 4, 25), "post-market", Filed(morning)) == (
        datetime(2024, 4, 26, 4, tzinfo=UTC), "end_of_day",
    )  # fmt: skip


def test_estimates_are_available_when_fetched_and_keep_every_column(answers):
    rows = answers("av_estimates", tickers=("QACB",)).rows(fetched_at=FETCHED)
    assert {row.available_at for row in rows} == {FETCHED}
    assert rows[1].values["eps_estimate_average_90_days_ago"] == 1.3
    assert (rows[2].values["revenue_estimate_low"], rows[2].values["horizon"]) == (None, "historical fiscal quarter")


def test_an_estimate_of_another_shape_is_no_null(answers):
    estimate = {"date": "2024-06-30", "horizon": "fiscal quarter", "eps_estimate_mean": "1.3"}
    reasons = answers("av_estimates", tickers=("QACB",)).reasons({"estimates": [estimate, {"horizon": []}]})
    assert reasons == ["estimate lacks a figure", "no horizon"]


def test_the_calendar_is_available_when_fetched(answers):
    rows = answers("av_earnings_calendar").rows(fetched_at=FETCHED)
    assert [(row.values["ticker"], row.values["estimate"], row.available_at) for row in rows] == [
        ("QACB", 1.34, FETCHED), ("QAU", 0.81, FETCHED), ("QFH", None, FETCHED),
    ]  # fmt: skip


@pytest.mark.parametrize("count", [3, 4000], ids=["few", "more than a cell may hold"])
def test_a_quote_that_is_not_closed_swallows_no_line_of_the_calendar(answers, count):
    head = "symbol,name,reportDate,fiscalDateEnding,estimate,currency,timeOfTheDay\n"
    lines = [f"T{number},A NAME OF OURS,2024-07-25,2024-06-30,1.34,USD,\n" for number in range(count)]
    lines[1] = lines[1].replace("A NAME", '"A NAME')
    calendar = answers("av_earnings_calendar")
    assert [row.values["ticker"] for row in calendar.rows(head + "".join(lines))] == ["T0"]
    assert calendar.reasons(head + "".join(lines)) == ["the answer is unreadable"]


def test_a_torn_line_of_the_calendar_is_a_gap(answers):
    head = "symbol,name,reportDate,fiscalDateEnding,estimate,currency,timeOfTheDay\n"
    lines = "QACB,ACONBY INC,2024-07-25,2024-06-30,1.34,USD\n,NOBODY,2024-07-25,2024-06-30,,USD,\nQAU,AUBERNE"
    assert answers("av_earnings_calendar").reasons(head + lines) == [
        "line has missing or extra fields",
        "no symbol",
        "line has missing or extra fields",
    ]
    other = head + "QAU,AUBERNE CO,2024-07-19,2024-06-30,0.81,USD,pre-market"
    assert answers("av_earnings_calendar", tickers=("QACB",)).reasons(other) == ["record is about another ticker"]
