"""Contract of dataset `calendar`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, DriftLimits, GapRule
from pitlake.datasets import _shared as shared

NO_CLOSE = GapRule(
    type="unverifiable", reason="trading day without a close", when="is_trading_day is 1 and the close is absent"
)
BAD_DATE = GapRule(type="unverifiable", reason="date is unreadable", when="Date.date is not a date")
BAD_FLAG = GapRule(
    type="unverifiable", reason="is_trading_day is unreadable", when="Date.is_trading_day is absent or no boolean"
)

DATASET = Dataset(
    name="calendar",
    title="Exchange calendar",
    summary="New York Stock Exchange days as the graph keeps them: sessions, early closes, closed days.",
    availability=(
        "The market close of a trading day; the end of the New York day for a day without a session. A change of the "
        "next trading day by an unscheduled closing is public at the end of the closed day."
    ),
    columns=(
        Column(name="date", type="date", required=True, meaning="Calendar day, New York."),
        Column(name="is_trading_day", type="bool", required=True, meaning="Whether there was a session."),
        Column(name="pre_market_open", type="instant", meaning="Start of pre-market trading."),
        Column(name="market_open", type="instant", meaning="Start of the regular session."),
        Column(name="market_close", type="instant", meaning="End of the regular session."),
        Column(name="post_market_close", type="instant", meaning="End of post-market trading."),
        Column(name="is_early_close", type="bool", required=True, meaning="Whether the session closed before 16:00."),
        Column(name="previous_trading_date", type="date", meaning="The trading day before."),
        Column(
            name="next_trading_date",
            type="date",
            meaning="The next trading day, as planned by the exchange's rules, and as changed by unscheduled closings.",
        ),
        Column(
            name="closed_through",
            type="date",
            meaning="The last unscheduled closing that changed next_trading_date; null if it is as planned.",
        ),
    ),
    key=("date",),
    identity=("date", "closed_through"),
    newer_by=("closed_through",),
    drift=DriftLimits(replaced=None),
    entity="date",
    knowable={"is_early_close": "lake"},
    rules=(
        "pre_market_open <= market_open",
        "market_open <= market_close",
        "market_close <= post_market_close",
        "previous_trading_date <= date",
        "next_trading_date >= date",
    ),
    source_tag="time_series_timestamp",
    gap_rules=(
        BAD_DATE,
        BAD_FLAG,
        NO_CLOSE,
        shared.STRAY_CLOSE,
        shared.FUTURE,
        *shared.unreadable(
            "pre_market_open", "market_open", "post_market_close", "previous_trading_date", "next_trading_date"
        ),
    ),
    freshness=timedelta(days=1),
)
