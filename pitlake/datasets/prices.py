"""Contract of dataset `prices`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NO_SYMBOL = GapRule(
    type="unverifiable", reason="no symbol", when="the entity has neither ticker nor ETF, or is of no known kind"
)
BAD_STAMP = GapRule(
    type="unverifiable", reason="bar stamp is unreadable", when="HAS_PRICE.timestamp is text but no instant"
)
STRAY_STAMP = GapRule(
    type="unverifiable", reason="bar stamp lies on another day", when="HAS_PRICE.timestamp is not on the bar's day"
)
NO_BASIS = GapRule(
    type="unverifiable",
    reason="split basis is not proven",
    when="splits followed the bar before it was first seen, and nothing proves which of them adjusted its prices",
)
NO_PRICE = GapRule(type="no_data", reason="no price", when="open, high, low and close are all absent or NaN")

DATASET = Dataset(
    name="prices",
    title="Daily price bars",
    summary=(
        "Daily bars as traded of companies, of industries and sectors through their ETFs, and of the index. A bar that "
        "the graph keeps adjusted for later splits is brought back to what was traded; where it is not proven by "
        "which splits, it is a gap. `bars_adjusted` gives the series adjusted by the splits public as of an instant."
    ),
    availability=(
        "The market close of the bar's day (early closes included), or the bar's own stamp where that is later. What "
        "proves a bar may come later; the figures are those of its day."
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
