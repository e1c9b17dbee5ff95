"""Contract of dataset `prices`."""

from dataclasses import replace
from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NO_SYMBOL = GapRule(
    type="unverifiable", reason="no symbol", when="the entity has neither a ticker nor an ETF, or is of an unknown kind"
)
BAD_STAMP = GapRule(
    type="unverifiable", reason="bar stamp is unreadable", when="HAS_PRICE.timestamp is text but no instant"
)
STRAY_STAMP = GapRule(
    type="unverifiable", reason="bar stamp is on another day", when="HAS_PRICE.timestamp is not on the bar's day"
)
NO_BASIS = GapRule(
    type="unverifiable",
    reason="split basis is not proven",
    when=(
        "splits followed the bar before the lake first saw it, and nothing proves which of them its prices are "
        "adjusted for"
    ),
)
NO_PRICE = GapRule(type="no_data", reason="no price", when="open, high, low and close are all absent or NaN")

DATASET = Dataset(
    name="prices",
    title="Daily price bars",
    summary=(
        "Daily bars as traded of companies, of the ETFs of industries and sectors, and of the index. A bar that the "
        "graph stores adjusted for later splits is converted back to the traded prices; if it is not proven which "
        "splits it is adjusted for, it is a gap. The query `bars_adjusted` returns the series adjusted for the "
        "splits public as of an instant."
    ),
    availability=(
        "The market close of the bar's day, including early closes, or the bar's own timestamp if that is later. A "
        "bar's adjustment may be proven later; its figures are those of its day."
    ),
    columns=(
        Column(
            name="entity_kind",
            type="string",
            required=True,
            meaning="company, industry, sector or index.",
            values=("company", "industry", "sector", "index"),
            strict=True,
        ),
        Column(
            name="entity_id", type="string", required=True, meaning="CIK, or the industry's, sector's or index's id."
        ),
        Column(name="symbol", type="string", required=True, meaning="Ticker, or the ETF that represents the entity."),
        Column(name="date", type="date", required=True, meaning="Trading day of the bar."),
        Column(name="open", type="float", unit="USD", meaning="First price of the regular session."),
        Column(name="high", type="float", unit="USD", meaning="Highest price."),
        Column(name="low", type="float", unit="USD", meaning="Lowest price."),
        Column(name="close", type="float", unit="USD", meaning="Last price."),
        Column(name="vwap", type="float", unit="USD", meaning="Volume-weighted average price."),
        Column(
            name="volume",
            type="float",
            unit="shares",
            meaning="Traded shares; fractional if converted from split-adjusted ones.",
        ),
        Column(name="transactions", type="float", meaning="Number of trades."),
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
