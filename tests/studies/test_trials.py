"""Trials: parsing a series of returns, and a trial's row in the report."""

from math import sqrt

import pandas as pd
import pytest

from pitlake.clock import iso
from pitlake.errors import BadInput
from pitlake.studies.trials import Returns, Trial

RETURNS = [0.01, -0.02, 0.03, 0.04, 0.0, 0.01]
STEPS = {"hour": "h", "day": "B", "week": "W", "month": "MS", "quarter": "QS", "year": "YS", None: "12D"}


@pytest.mark.parametrize("frequency", STEPS, ids=str)
def test_the_frequency_of_dated_returns_is_inferred_from_their_dates(frequency):
    dates = pd.date_range("2020-01-06T15:30:00Z", periods=len(RETURNS), freq=STEPS[frequency])
    returns = Returns.parse(pd.Series(RETURNS, dates)[::-1], None)
    assert (returns.values, returns.dates, returns.frequency) == (RETURNS, list(dates.to_pydatetime()), frequency)


def test_the_row_of_a_trial_has_its_first_and_last_period_and_sharpe_ratios():
    returns = Returns.parse(dict(zip(pd.date_range("2020-01-06T15:30:00Z", periods=6), RETURNS, strict=True)), None)
    row = Trial("1. idea", "idea", "in sample", tuple(returns.values), tuple(returns.dates), "day").to_dict()
    assert (row["first"], row["last"]) == ("2020-01-06T15:30:00Z", iso(returns.dates[-1]))
    ratio = pd.Series(RETURNS).mean() / pd.Series(RETURNS).std()
    assert row["mean"] == pytest.approx(sum(RETURNS) / 6)
    assert (row["sharpe_ratio"], row["sharpe_ratio_per_year"]) == pytest.approx((ratio, ratio * sqrt(252)))


@pytest.mark.parametrize(("frequency", "periods"), [("week", 52), ("month", 12), ("quarter", 4), ("year", 1)])
def test_the_sharpe_ratio_per_year_counts_the_periods_of_a_year(frequency, periods):
    row = Trial("1. idea", "idea", "in sample", tuple(RETURNS), (), frequency).to_dict()
    assert row["sharpe_ratio_per_year"] == pytest.approx(row["sharpe_ratio"] * sqrt(periods))


@pytest.mark.parametrize("returns", [5, 0.5, object(), b"0123", "0123"])
def test_returns_that_are_not_a_series_are_refused(returns):
    with pytest.raises(BadInput, match="returns: are"):
        Returns.parse(returns, None)
