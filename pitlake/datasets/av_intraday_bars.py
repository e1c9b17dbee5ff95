"""Contract of dataset `av_intraday_bars`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

NO_TIME = GapRule("bar has no readable time", "the bar's key is not a New York time")
NO_INTERVAL = GapRule("bar length is unknown", "neither the answer nor the request gives the length of a bar")

DATASET = Dataset(
    name="av_intraday_bars",
    title="Intraday bars of Alpha Vantage",
    summary="Raw intraday bars as traded, never adjusted, including those before the open and after the close.",
    availability=(
        "The bar's time plus its length. The source does not say whether its times are starts or ends of bars. The bar "
        "of 16:00 contains the closing auction and the last bar of a day is 19:55, so they are starts today; older "
        "answers may give ends. Read as starts, no bar is early, and each is at most one bar's length late."
    ),
    columns=(
        Column("ticker", "string", "The requested symbol.", required=True),
        Column(
            "interval",
            "string",
            "1min, 5min, 15min, 30min or 60min.",
            required=True,
            values=("1min", "5min", "15min", "30min", "60min"),
            strict=True,
        ),
        Column("bar_start", "instant", "The bar's time, read as its start.", required=True),
        Column(
            "market_session",
            "string",
            "pre_market, in_market or post_market by the exchange's hours of that day, early closes included.",
            required=True,
            values=("pre_market", "in_market", "post_market"),
            strict=True,
        ),
        Column("open", "float", "First price of the bar.", unit="USD", required=True),
        Column("high", "float", "Highest price.", unit="USD", required=True),
        Column("low", "float", "Lowest price.", unit="USD", required=True),
        Column("close", "float", "Last price, not adjusted.", unit="USD", required=True),
        Column("volume", "int", "Traded shares.", unit="shares", required=True),
    ),
    key=("ticker", "interval", "bar_start"),
    entity="ticker",
    alike=("ticker", "interval"),
    drift=shared.RESTATED_BARS,
    knowable={"ticker": "hindsight", **dict.fromkeys(("bar_start", "market_session"), "lake")},
    rules=shared.BAR_RULES,
    source_tag="time_series_timestamp",
    gap_rules=(
        shared.FUTURE,
        figures.UNFINISHED,
        NO_TIME,
        NO_INTERVAL,
        figures.NO_SESSION,
        figures.OTHER_ZONE,
        figures.TOLD_TWICE,
        *shared.unreadable("open", "high", "low", "close", "volume"),
    ),
    group="external",
    lane=2,
    freshness=timedelta(days=5),
)
