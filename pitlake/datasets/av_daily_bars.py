"""Contract of dataset `av_daily_bars`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

NO_DAY = GapRule("bar has no readable day", "the bar's key is not a valid date")

DATASET = Dataset(
    name="av_daily_bars",
    title="Daily bars of Alpha Vantage",
    summary=(
        "Raw daily bars as traded. They are never adjusted, because adjusted prices reflect later splits and "
        "dividends. Only New York listings are included. Named queries use a bar from here if neither `prices` nor "
        "`own_bars` has one for the day."
    ),
    availability=(
        "The close of New York's exchange on the bar's day, early closes included. A bar fetched before that does not "
        "become a row. A later change to its values creates a new revision, available when it was observed. Listings "
        f"elsewhere are refused, because their exchange may close later. {figures.BARS_COUNT_FROM}"
    ),
    columns=(
        Column("ticker", "string", "Symbol as requested.", required=True),
        Column("date", "date", "Trading day of the bar, New York.", required=True),
        Column("open", "float", "First price of the day.", unit="USD", required=True),
        Column("high", "float", "Highest price.", unit="USD", required=True),
        Column("low", "float", "Lowest price.", unit="USD", required=True),
        Column("close", "float", "Last price, not adjusted.", unit="USD", required=True),
        Column("volume", "int", "Traded shares.", unit="shares", required=True),
    ),
    key=("ticker", "date"),
    entity="ticker",
    drift=shared.RESTATED_BARS,
    knowable={"ticker": "hindsight"},
    rules=shared.BAR_RULES,
    source_tag="time_series_timestamp",
    gap_rules=(
        shared.FUTURE,
        figures.UNFINISHED,
        NO_DAY,
        figures.NO_SESSION,
        figures.OTHER_ZONE,
        figures.TOLD_TWICE,
        *shared.unreadable("open", "high", "low", "close", "volume"),
    ),
    group="external",
    lane=2,
    freshness=timedelta(days=5),
)
