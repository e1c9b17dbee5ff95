"""Alpha Vantage's earnings, estimates and calendar are dated by the filing, by the end of the day or by the fetch."""

from datetime import date, datetime, timedelta, timezone

from hypothesis import given, settings
from hypothesis import strategies as st

from assets.external.alpha_vantage.av_earnings import public_at
from assets.feeds import dating
from pitlake.clock import end_of_new_york_day, new_york_day

UTC = timezone.utc


class Filed:
    """The releases of one ticker, by the New York day of their acceptance."""

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


def test_quarters_are_public_after_their_report_day_and_years_with_their_last_quarter(answers):
    rows = by_period(answers("av_earnings", tickers=("QACB",)).rows())
    assert rows["quarter", "2024-03-31"].available_at == datetime(2024, 4, 26, 4, tzinfo=UTC)
    assert rows["quarter", "2024-03-31"].evidence.endswith("&item=QACB/quarter/2024-03-31&dated_by=end_of_day")
    assert rows["year", "2023-09-30"].available_at == rows["quarter", "2023-09-30"].available_at
    assert (rows["year", "2023-09-30"].values["reported_eps"], len(rows)) == (6.12, 5)


def test_an_earnings_report_is_dated_by_the_filing_of_its_day(answers):
    accepted = datetime(2024, 4, 25, 20, 7, 57, tzinfo=UTC)
    rows = by_period(answers("av_earnings", tickers=("QACB",)).rows(releases=Filed(accepted)))
    assert rows["quarter", "2024-03-31"].available_at == accepted
    assert rows["quarter", "2024-03-31"].evidence.endswith("&dated_by=8-K")


def test_earnings_without_a_figure_or_a_date_are_gaps(answers):
    gaps = [outcome for outcome in answers("av_earnings", tickers=("QACB",)).outcomes() if hasattr(outcome, "reason")]
    assert [(gap.locator.rsplit("item=QACB/")[1], gap.type, gap.reason) for gap in gaps] == [
        ("quarter/2024-06-30", "no_data", "no reported figure"),
        ("quarter/2023-03-31", "unverifiable", "no reported date"),
        ("year/2024-03-31", "no_data", "fiscal year is not over"),
        ("year/2022-09-30", "unverifiable", "no quarter ends with the year"),
    ]


DAYS = st.dates(date(2000, 1, 1), date(2027, 12, 31))


@settings(max_examples=400, deadline=None)
@given(DAYS, st.integers(0, 86_399), st.sampled_from(["pre-market", "post-market", "None"]), st.sampled_from([0, 1]))
def test_no_report_is_available_early_when_its_stated_day_is_right_or_a_day_too_soon(day, second, session, days_late):
    """The report is published on the stated day, or on the next day if the lake has the filing that proves it."""
    start = end_of_new_york_day(day + timedelta(days=days_late - 1))
    truth = start + timedelta(seconds=second * 82_800 // 86_400)
    filed = Filed(truth) if days_late or second % 2 else None
    if filed and session == "post-market" and truth < start + timedelta(hours=17):
        session = "pre-market"
    available_at, _rule = public_at("QACB", day, session, filed)
    assert truth <= available_at <= truth + dating.DATE_ONLY_BOUND


def test_a_filing_before_the_close_does_not_date_a_post_market_report():
    morning = datetime(2024, 4, 25, 12, tzinfo=UTC)
    assert public_at("QACB", date(2024, 4, 25), "post-market", Filed(morning)) == (
        datetime(2024, 4, 26, 4, tzinfo=UTC), "end_of_day",
    )  # fmt: skip
