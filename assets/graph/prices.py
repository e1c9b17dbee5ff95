"""Dataset `prices`: daily bars on HAS_PRICE edges, as traded. The edge's daily_return is never read.

A bar that precedes a split is converted back to the traded price, or becomes a gap if its basis is not proven.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

from assets.extraction import Extractor, GraphReader, Place, Record, RunFacts, dated, parsed
from assets.graph import _traded, texts
from assets.graph._traded import Factors
from assets.patterns import KINDS
from pitlake.datasets import _shared as shared
from pitlake.datasets import prices as contract
from pitlake.datasets.prices import DATASET
from pitlake.errors import RecordRefused
from pitlake.lake.lake import Lake

FIELDS = """
RETURN d.date AS date, d.market_close_current_day AS close_at, p.timestamp AS stamp, labels(e)[0] AS label,
       e.id AS entity_id, coalesce(e.ticker, e.etf) AS symbol, p.open AS open, p.high AS high, p.low AS low,
       p.close AS close, p.vwap AS vwap, p.volume AS volume, p.transactions AS transactions
"""

WINDOW = f"MATCH (d:Date)-[p:HAS_PRICE]->(e)\nWHERE d.date >= $lo AND d.date < $hi{FIELDS}"

UNDATED = f"MATCH (d:Date)-[p:HAS_PRICE]->(e)\nWHERE NOT coalesce(d.date =~ $dated, false){FIELDS}"

DECIMALS = 6  # The rounding of converted prices and volumes.
PRICES = ("open", "high", "low", "close", "vwap")
PARSERS = {"date": texts.day} | dict.fromkeys((*PRICES, "volume", "transactions"), texts.number)


def locate(record: Record, _run: RunFacts, factors: Factors) -> Place:
    """Return the later of the day's close and the bar's own timestamp; both must be on the bar's day."""
    evidence = f"neo4j:Date:{record['date']}/HAS_PRICE/{record['label']}:{record['entity_id']}"
    day = texts.leading_day(record["date"])
    close_at = texts.readable(texts.instant, record["close_at"])
    if close_at is None:
        return Place(evidence, day=day, reason=shared.NO_CLOSE.reason)
    if not texts.session_day(close_at, day):
        return Place(evidence, day=day, reason=shared.STRAY_CLOSE.reason)
    stamp = texts.readable(texts.instant, record["stamp"])
    if stamp is None and not texts.is_absent(record["stamp"]):
        return Place(evidence, day=day, reason=contract.BAD_STAMP.reason)
    if stamp is not None and not texts.session_day(stamp, day):
        return Place(evidence, day=day, reason=contract.STRAY_STAMP.reason)
    if _factor(record, factors) is None:
        return Place(evidence, day=day, reason=contract.NO_BASIS.reason)
    return dated(evidence, max(close_at, stamp or close_at))


def values(record: Record, factors: Factors) -> dict[str, Any]:
    symbol, kind = texts.word(record["symbol"]), KINDS.get(record["label"])
    if symbol is None or kind is None:
        raise RecordRefused(contract.NO_SYMBOL.reason)
    bar = parsed(record, PARSERS)
    if all(bar[price] is None for price in ("open", "high", "low", "close")):
        raise RecordRefused(contract.NO_PRICE.reason)
    factor = _factor(record, factors)
    if factor is not None and factor != 1.0:
        bar |= {name: round(bar[name] * factor, DECIMALS) for name in PRICES if bar[name] is not None}
        bar["volume"] = None if bar["volume"] is None else round(bar["volume"] / factor, DECIMALS)
    return {"entity_kind": kind, "entity_id": texts.word(record["entity_id"]), "symbol": symbol} | bar


def _factor(record: Record, factors: Factors) -> float | None:
    entity = factors.get((record["label"], str(record["entity_id"])))
    day = texts.leading_day(record["date"])
    return 1.0 if entity is None or day is None else entity(day)


def extractor(factors: Factors) -> Extractor:
    """Return the extractor with these factors. Bars of other entities and days are as traded."""
    return replace(
        EXTRACTOR, locate=partial(locate, factors=factors), values=partial(values, factors=factors), prepared=None
    )


def prepared(graph: GraphReader, lake: Lake, run: RunFacts, days: Sequence[date]) -> Extractor:
    """Return the extractor for these days, with later splits and the proven factors of earlier bars."""
    return extractor(_traded.factors(graph, lake, run, days))


EXTRACTOR = Extractor(
    dataset=DATASET,
    windows=(WINDOW,),
    sweeps=(UNDATED,),
    locate=partial(locate, factors={}),
    values=partial(values, factors={}),
    prepared=prepared,
    margin=0,
)
