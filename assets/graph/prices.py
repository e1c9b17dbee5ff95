"""Dataset `prices`: daily bars on HAS_PRICE edges. The edge's daily_return is never read."""

from typing import Any

from assets.extraction import Extractor, Place, Record, RunFacts, dated, parsed
from assets.graph import texts
from pitlake.datasets import _shared as shared
from pitlake.datasets import prices as contract
from pitlake.datasets.prices import DATASET
from pitlake.errors import RecordRefused

FIELDS = """
RETURN d.date AS date, d.market_close_current_day AS close_at, p.timestamp AS stamp, labels(e)[0] AS label,
       e.id AS entity_id, coalesce(e.ticker, e.etf) AS symbol, p.open AS open, p.high AS high, p.low AS low,
       p.close AS close, p.vwap AS vwap, p.volume AS volume, p.transactions AS transactions
"""

WINDOW = f"MATCH (d:Date)-[p:HAS_PRICE]->(e)\nWHERE d.date >= $lo AND d.date < $hi{FIELDS}"

UNDATED = f"MATCH (d:Date)-[p:HAS_PRICE]->(e)\nWHERE NOT coalesce(d.date =~ $dated, false){FIELDS}"

KINDS = {"Company": "company", "Industry": "industry", "Sector": "sector", "MarketIndex": "index"}

PARSERS = {"date": texts.day} | dict.fromkeys(
    ("open", "high", "low", "close", "vwap", "volume", "transactions"), texts.number
)


def locate(record: Record, _run: RunFacts) -> Place:
    """The later of the day's close and the bar's own stamp, both of which must lie on the bar's day."""
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
    return dated(evidence, max(close_at, stamp or close_at))


def values(record: Record) -> dict[str, Any]:
    """The bar of one entity."""
    symbol, kind = texts.word(record["symbol"]), KINDS.get(record["label"])
    if symbol is None or kind is None:
        raise RecordRefused(contract.NO_SYMBOL.reason)
    bar = parsed(record, PARSERS)
    if all(bar[price] is None for price in ("open", "high", "low", "close")):
        raise RecordRefused(contract.NO_PRICE.reason)
    return {"entity_kind": kind, "entity_id": texts.word(record["entity_id"]), "symbol": symbol} | bar


EXTRACTOR = Extractor(dataset=DATASET, windows=(WINDOW,), sweeps=(UNDATED,), locate=locate, values=values, margin=0)
