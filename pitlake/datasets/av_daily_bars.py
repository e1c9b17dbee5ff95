"""Contract of dataset `av_daily_bars`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

NO_DAY = GapRule(type="unverifiable", reason="bar has no readable day", when="the bar's key is not a calendar day")

DATASET = Dataset(
    name="av_daily_bars",
    title="Daily bars of Alpha Vantage",
    summary=(
        "Raw daily bars as traded. They are never adjusted, because adjusted prices reflect later splits and "
        "dividends. Only "
        "New York listings. Named queries use a bar from here if neither `prices` nor `own_bars` has one for the day."
    ),
    availability=(
        "The close of New York's exchange on the bar's day, early closes included. A bar fetched before that is not a "
        "row. A later change of its values is a new revision, available when observed. Listings elsewhere are refused, "
        f"because their exchange may close later. {figures.BARS_COUNT_FROM}"
    ),
    columns=(
        Column(name="ticker", type="string", required=True, meaning="Symbol as requested."),
        Column(name="date", type="date", required=True, meaning="Trading day of the bar, New York."),
        Column(name="open", type="float", unit="USD", required=True, meaning="First price of the day."),
        Column(name="high", type="float", unit="USD", required=True, meaning="Highest price."),
        Column(name="low", type="float", unit="USD", required=True, meaning="Lowest price."),
        Column(name="close", type="float", unit="USD", required=True, meaning="Last price, not adjusted."),
        Column(name="volume", type="int", unit="shares", required=True, meaning="Traded shares."),
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
    partitioned=False,
    freshness=timedelta(days=5),
)
