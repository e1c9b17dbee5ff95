"""Contract of dataset `calendar`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, DriftLimits, GapRule
from pitlake.datasets import _shared as shared

NO_CLOSE = GapRule("trading day without a close", "is_trading_day is 1 and the close is absent")
BAD_DATE = GapRule("date is unreadable", "Date.date is not a date")
BAD_FLAG = GapRule("is_trading_day is unreadable", "Date.is_trading_day is absent or no boolean")

DATASET = Dataset(
    name="calendar",
    title="Exchange calendar",
    summary="New York Stock Exchange days as the graph keeps them: sessions, early closes, closed days.",
    availability=(
        "The market close of a trading day; the end of the New York day for a day without a session. A change to the "
        "next trading day by an unscheduled closing is public at the end of the closed day."
    ),
    columns=(
        Column("date", "date", "Calendar day, New York.", required=True),
        Column("is_trading_day", "bool", "Whether there was a session.", required=True),
        Column("pre_market_open", "instant", "Start of pre-market trading."),
        Column("market_open", "instant", "Start of the regular session."),
        Column("market_close", "instant", "End of the regular session."),
        Column("post_market_close", "instant", "End of post-market trading."),
        Column("is_early_close", "bool", "Whether the session closed before 16:00.", required=True),
        Column("previous_trading_date", "date", "The trading day before."),
        Column(
            "next_trading_date",
            "date",
            "The next trading day, as planned by the exchange's rules, and as changed by unscheduled closings.",
        ),
        Column(
            "closed_through",
            "date",
            "The last unscheduled closing that changed next_trading_date; null if it is as planned.",
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
