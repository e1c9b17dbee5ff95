"""Dataset `dividends`: declared cash dividends, dated by the end of their declaration day."""

from typing import Any

from assets.extraction import Extractor, Place, Record, RunFacts, dated, parsed
from assets.graph import _actions, texts
from assets.splits import DATASETS as SPLITS
from pitlake.clock import end_of_new_york_day, new_york_day
from pitlake.datasets import dividends as contract
from pitlake.datasets.dividends import DATASET
from pitlake.errors import RecordRefused

FIELDS = """
RETURN v.id AS dividend_id, v.ticker AS ticker, v.declaration_date AS declaration_date,
       v.dividend_type AS dividend_type, v.ex_dividend_date AS ex_dividend_date, v.record_date AS record_date,
       v.pay_date AS pay_date, v.cash_amount AS cash_amount, v.currency AS currency, v.frequency AS frequency,
       [(v)<-[:HAS_DIVIDEND]-(d:Date) | [d.date, d.market_close_current_day]] AS date_nodes
"""

WINDOW = f"MATCH (v:Dividend)\nWHERE v.declaration_date >= $lo AND v.declaration_date < $hi{FIELDS}"

UNDATED = f"MATCH (v:Dividend)\nWHERE NOT coalesce(v.declaration_date =~ $dated, false){FIELDS}"

PARSERS = {
    "dividend_id": texts.word,
    "ticker": texts.word,
    "declaration_date": texts.day,
    "ex_dividend_date": texts.day,
    "record_date": texts.day,
    "pay_date": texts.day,
    "currency": texts.word,
    "frequency": texts.word,
}


def locate(record: Record, _run: RunFacts) -> Place:
    """The end of the declaration day: at what time of day it was declared is not stated."""
    place = _actions.place_action(
        f"neo4j:Dividend:{record['dividend_id']}",
        record["ticker"],
        record["declaration_date"],
        record["date_nodes"],
        differs=contract.OTHER_DATE.reason,
    )
    if place.available_at is None:
        return place
    return dated(place.evidence, end_of_new_york_day(new_york_day(place.available_at)))


def values(record: Record) -> dict[str, Any]:
    """The business columns; an amount that is missing or 0.0 is what a failed parse upstream leaves behind."""
    amount = texts.readable(texts.number, record["cash_amount"])
    if not amount or amount < 0:
        raise RecordRefused(contract.NO_AMOUNT.reason)
    kind = texts.word(record["dividend_type"]) or "UNKNOWN"
    return parsed(record, PARSERS) | {"cash_amount": amount, "dividend_type": kind}


EXTRACTOR = Extractor(
    dataset=DATASET,
    windows=(WINDOW,),
    sweeps=(UNDATED,),
    locate=locate,
    values=values,
    margin=0,
    trail=1,
    after=SPLITS,
)
