"""Contract of dataset `prices`."""

from dataclasses import replace
from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NO_SYMBOL = GapRule("no symbol", "the entity has neither a ticker nor an ETF, or is of an unknown kind")
BAD_STAMP = GapRule("bar stamp is unreadable", "HAS_PRICE.timestamp is text but no instant")
STRAY_STAMP = GapRule("bar stamp is on another day", "HAS_PRICE.timestamp is not on the bar's day")
NO_BASIS = GapRule(
    "split basis is not proven",
    (
        "splits followed the bar before the lake first saw it, and nothing proves which of them its prices are "
        "adjusted for"
    ),
)
NO_PRICE = GapRule("no price", "open, high, low and close are all absent or NaN", type="no_data")

DATASET = Dataset(
    name="prices",
    title="Daily price bars",
    summary=(
        "Daily bars as traded of companies, of the ETFs of industries and sectors, and of the index. A bar that the "
        "graph stores adjusted for later splits is converted back to traded prices. If nothing proves which splits it "
        "is adjusted for, it becomes a gap. The query `bars_adjusted` returns the series adjusted for the splits "
        "public as of an instant."
    ),
    availability=(
        "The market close of the bar's day, including early closes, or the bar's own timestamp if that is later. A "
        "bar's adjustment may be proven later; its figures are those of its day."
    ),
    columns=(
        Column(
            "entity_kind",
            "string",
            "company, industry, sector or index.",
            required=True,
            values=("company", "industry", "sector", "index"),
            strict=True,
        ),
        Column("entity_id", "string", "CIK, or the industry's, sector's or index's id.", required=True),
        Column("symbol", "string", "Ticker, or the ETF that represents the entity.", required=True),
        Column("date", "date", "Trading day of the bar.", required=True),
        Column("open", "float", "First price of the regular session.", unit="USD"),
        Column("high", "float", "Highest price.", unit="USD"),
        Column("low", "float", "Lowest price.", unit="USD"),
        Column("close", "float", "Last price.", unit="USD"),
        Column("vwap", "float", "Volume-weighted average price.", unit="USD"),
        Column("volume", "float", "Traded shares; fractional if converted from split-adjusted ones.", unit="shares"),
        Column("transactions", "float", "Number of trades."),
    ),
    key=("entity_kind", "entity_id", "date"),
    entity="symbol",
    drift=replace(shared.RESTATED_BARS, waiting=(NO_BASIS.reason,)),
    knowable={"symbol": "hindsight"},
    rules=(*shared.BAR_RULES, "vwap >= 0", "transactions >= 0"),
    source_tag="time_series_timestamp",
    gap_rules=(
        shared.NO_CLOSE,
        shared.STRAY_CLOSE,
        BAD_STAMP,
        STRAY_STAMP,
        NO_BASIS,
        NO_SYMBOL,
        NO_PRICE,
        shared.FUTURE,
        *shared.unreadable("date", "open", "high", "low", "close", "vwap", "volume", "transactions"),
    ),
    freshness=timedelta(days=1),
    warnings=("basis_proven",),
)
