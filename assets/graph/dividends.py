"""Dataset `dividends`: declared cash dividends, dated by the end of their declaration day.

The graph does not say when it loaded an amount, so a later split may have restated it. Such an amount is dated by the
newest split in the graph, whichever of the two datasets is loaded first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from typing import Any

from assets.extraction import Extractor, GraphReader, Place, Record, RunFacts, dated, day_of, parsed
from assets.graph import _actions, splits, texts
from assets.reading import as_dicts
from assets.splits import DATASETS as SPLITS
from pitlake.clock import end_of_new_york_day, new_york_day
from pitlake.datasets import dividends as contract
from pitlake.datasets.dividends import DATASET
from pitlake.errors import RecordRefused
from pitlake.lake.lake import Lake

FIELDS = """
RETURN v.id AS node, v.ticker AS ticker, v.declaration_date AS declaration_date,
       v.dividend_type AS dividend_type, v.ex_dividend_date AS ex_dividend_date, v.record_date AS record_date,
       v.pay_date AS pay_date, v.cash_amount AS cash_amount, v.currency AS currency, v.frequency AS frequency,
       [(v)<-[:HAS_DIVIDEND]-(d:Date) | [d.date, d.market_close_current_day]] AS date_nodes,
       [(v)<-[:DECLARED_DIVIDEND]-(c:Company) | c.id] AS cik
"""

WINDOW = f"MATCH (v:Dividend)\nWHERE v.declaration_date >= $lo AND v.declaration_date < $hi{FIELDS}"

UNDATED = f"MATCH (v:Dividend)\nWHERE NOT coalesce(v.declaration_date =~ $dated, false){FIELDS}"

SPLIT_NODES = f"MATCH (v:Split){splits.FIELDS}"

PARSERS = {
    "ticker": texts.word,
    "declaration_date": texts.day,
    "ex_dividend_date": texts.day,
    "record_date": texts.day,
    "pay_date": texts.day,
    "currency": texts.word,
    "frequency": texts.word,
}


LastSplits = Mapping[str, datetime]
"""The instant at which the newest split became public, by company id and by ticker."""


def locate(record: Record, _run: RunFacts, last_splits: LastSplits) -> Place:
    """Return the end of the declaration day, because the time is not stated, or the instant of a later split."""
    place = _actions.place_action(
        texts.node("Dividend", record["node"]),
        record["ticker"],
        record["declaration_date"],
        record["date_nodes"],
        differs=contract.OTHER_DATE.reason,
    )
    if place.available_at is None:
        return place
    declared = end_of_new_york_day(new_york_day(place.available_at))
    return dated(place.evidence, max(declared, *(last_splits.get(name, declared) for name in _names(record))))


def values(record: Record) -> dict[str, Any]:
    """Return the business columns. A missing amount, or 0.0, is the result of a failed parse upstream."""
    amount = texts.readable(texts.number, record["cash_amount"])
    if not amount or amount < 0:
        raise RecordRefused(contract.NO_AMOUNT.reason)
    kind = texts.word(record["dividend_type"]) or "UNKNOWN"
    cik = _actions.company(record["cik"])
    facts = parsed(record, PARSERS) | {"cik": cik, "cash_amount": amount, "dividend_type": kind}
    node, prefix = str(record["node"]), f"{facts['ticker']}_"
    renamed = cik is not None and node.startswith(prefix)
    return facts | {"dividend_id": f"{cik}_{node.removeprefix(prefix)}" if renamed else node}


def extractor(last_splits: LastSplits) -> Extractor:
    """Return the extractor with these splits. Dividends of any earlier day may be dated to a split's New York day."""
    days_of_splits = set(map(day_of, last_splits.values()))

    def trail_of(day: date) -> int:
        before = (day - DATASET.first_day).days if day in days_of_splits else 0
        return max(before, 0) + EXTRACTOR.trail

    return replace(
        EXTRACTOR,
        locate=partial(locate, last_splits=last_splits),
        prepared=None,
        trail=max(map(trail_of, days_of_splits), default=EXTRACTOR.trail),
        trail_of=trail_of,
    )


def prepared(graph: GraphReader, _lake: Lake, run: RunFacts, _days: Sequence[date]) -> Extractor:
    """Return the extractor with all splits of the graph that were public at the observation."""
    last_splits: dict[str, datetime] = {}
    for batch in graph.stream(SPLIT_NODES, {}, fetch_size=EXTRACTOR.batch):
        for node in as_dicts(batch):
            split = splits.locate(node, run)
            public_at = split.available_at
            if public_at is None and split.day is not None:  # This split is not a row of `splits`.
                public_at = end_of_new_york_day(split.day)
            if public_at is not None and public_at <= run.observed_at:
                for name in _names(node):
                    last_splits[name] = max(public_at, last_splits.get(name, public_at))
    return extractor(last_splits)


def _names(node: Record) -> set[str]:
    return {str(name) for name in (node["ticker"], *(node.get("cik") or ())) if name}


EXTRACTOR = Extractor(
    dataset=DATASET,
    windows=(WINDOW,),
    sweeps=(UNDATED,),
    locate=partial(locate, last_splits={}),
    values=values,
    prepared=prepared,
    contest=_actions.contest(DATASET, contract.TWO_NODES),
    margin=0,
    trail=1,
    after=SPLITS,
)
