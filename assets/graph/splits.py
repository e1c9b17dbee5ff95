"""Dataset `splits`: executed share splits, dated by the close of their execution day."""

from typing import Any

from assets.extraction import Extractor, Place, Record, RunFacts, dated, parsed
from assets.graph import _actions, texts
from pitlake.clock import end_of_new_york_day
from pitlake.datasets import _shared as shared
from pitlake.datasets import splits as contract
from pitlake.datasets.splits import DATASET
from pitlake.errors import RecordRefused

FIELDS = """
RETURN v.id AS node, v.ticker AS ticker, v.execution_date AS execution_date,
       v.split_from AS split_from, v.split_to AS split_to,
       [(v)<-[:HAS_SPLIT]-(d:Date) | [d.date, d.market_close_current_day]] AS date_nodes,
       [(v)<-[:DECLARED_SPLIT]-(c:Company) | c.id] AS cik
"""

WINDOW = f"MATCH (v:Split)\nWHERE v.execution_date >= $lo AND v.execution_date < $hi{FIELDS}"

UNDATED = f"MATCH (v:Split)\nWHERE NOT coalesce(v.execution_date =~ $dated, false){FIELDS}"


def locate(record: Record, _run: RunFacts) -> Place:
    """Return the close of the execution day, or its end if the exchange is closed. The next bar is on the new basis."""
    place = _actions.place_action(
        texts.node("Split", record["node"]),
        record["ticker"],
        record["execution_date"],
        record["date_nodes"],
        differs=contract.OTHER_DATE.reason,
    )
    if place.reason == shared.NO_CLOSE.reason and place.day is not None:
        return dated(place.evidence, end_of_new_york_day(place.day))
    return place


def values(record: Record) -> dict[str, Any]:
    """Return the business columns. A ratio that could not be parsed upstream is not a split."""
    shares_before = texts.readable(texts.number, record["split_from"])
    shares_after = texts.readable(texts.number, record["split_to"])
    if not shares_before or not shares_after or min(shares_before, shares_after) < 0:
        raise RecordRefused(contract.NO_RATIO.reason)
    facts = parsed(record, {"ticker": texts.word, "execution_date": texts.day})
    cik = _actions.company(record["cik"])
    name = f"{cik or facts['ticker']}_{facts['execution_date']}"
    return facts | {"cik": cik, "split_from": shares_before, "split_to": shares_after, "split_id": name}


EXTRACTOR = Extractor(
    dataset=DATASET,
    windows=(WINDOW,),
    sweeps=(UNDATED,),
    locate=locate,
    values=values,
    contest=_actions.contest(DATASET, contract.TWO_RATIOS),
    margin=0,
    trail=1,
)
