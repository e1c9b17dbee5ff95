"""Shared code of earnings calls and their parts: identity, date, and the choice between several nodes of a call.

Independent of datasets.
"""

import re
from datetime import time, timedelta
from typing import Any

from assets.extraction import Contest, Extractor, Parser, Place, Record, RunFacts, dated, parsed
from assets.graph import texts
from pitlake.clock import NEW_YORK
from pitlake.contract import Dataset
from pitlake.datasets import transcripts as contract
from pitlake.datasets._earnings import DEFAULT_LAG
from pitlake.times import stated

CALL_WINDOW = """
MATCH (t:Transcript)
WHERE t.conference_datetime >= $lo AND t.conference_datetime < $hi
"""

UNDATED_CALL = """
MATCH (t:Transcript)
WHERE NOT coalesce(t.conference_datetime =~ $dated, false)
"""

CALL_FIELDS = """
       t.id AS call_node, t.symbol AS ticker, t.conference_datetime AS conference_datetime,
       COUNT { (t)-[:HAS_QA_EXCHANGE]->() } AS exchange_count
"""

_MINUTE_ID = re.compile(r".+_\d{4}-\d{2}-\d{2}T\d{2}\.\d{2}", re.ASCII)
_SHORT_ID = re.compile(r".+_\d{4}_\d", re.ASCII)
# In spring, a New York day has 23 hours, so 24 hours may end two days later.
LONGEST_LAG_DAYS = -(-DEFAULT_LAG // timedelta(days=1)) + 1


def place_call(record: Record, run: RunFacts, evidence: str) -> Place:
    """Return the call's start plus the publication lag.

    A part without a call is not a row, and neither is a call without start or ticker.

    Midnight in the stated zone or in New York means a day without a time. This day may be days before the call.
    """
    if record.get("call_node") is None:
        return Place(evidence, reason=contract.NO_CALL.reason)
    start = texts.readable(texts.published, record["conference_datetime"])
    clocks = () if start is None else (stated(str(record["conference_datetime"])), start.astimezone(NEW_YORK))
    if start is None or time() in (clock.time() for clock in clocks):
        filed_under = texts.leading_day(record["conference_datetime"])
        return Place(evidence, day=filed_under, reason=contract.NO_START.reason)
    place = dated(evidence, start + run.publication_lag)
    if texts.word(record["ticker"]) is None:
        return Place(evidence, place.available_at, place.day, contract.NO_TICKER.reason)
    return place


def call_values(record: Record) -> dict[str, Any]:
    ticker, start = texts.word(record["ticker"]), texts.instant(record["conference_datetime"])
    minute = start.astimezone(NEW_YORK).strftime("%Y-%m-%dT%H.%M") if start else ""
    return {"transcript_id": f"{ticker}_{minute}", "ticker": ticker, "conference_datetime": start}


def id_shape(node: str) -> int:
    """Rank a transcript id by its form: 2 for TICKER_YYYY-MM-DDTHH.MM, 1 for a full timestamp, 0 for TICKER_YYYY_Q."""
    if _MINUTE_ID.fullmatch(node):
        return 2
    return 0 if _SHORT_ID.fullmatch(node) else 1


RICHER_CALL = Contest(
    group=("transcript_id",),
    contender=lambda record: str(record["call_node"]),
    rank=lambda record: (int(record["exchange_count"]), id_shape(str(record["call_node"]))),
    reason=contract.DUPLICATE_CALL.reason,
)


def part_extractor(
    dataset: Dataset, *, relation: str, label: str, fields: str, parsers: dict[str, Parser]
) -> Extractor:
    """Return the extractor of a label that is linked to a Transcript by `relation`."""
    tail = f"MATCH (t)-[:{relation}]->(p:{label})\nRETURN p.id AS node, {fields},{CALL_FIELDS}"
    orphans = f"MATCH (p:{label})\nWHERE NOT EXISTS {{ (p)<-[:{relation}]-(:Transcript) }}\nRETURN p.id AS node"

    def locate(record: Record, run: RunFacts) -> Place:
        return place_call(record, run, texts.node(label, record["node"]))

    def values(record: Record) -> dict[str, Any]:
        return call_values(record) | parsed(record, parsers)

    return Extractor(
        dataset=dataset,
        windows=(CALL_WINDOW + tail,),
        sweeps=(UNDATED_CALL + tail, orphans),
        locate=locate,
        values=values,
        contest=RICHER_CALL,
        trail=LONGEST_LAG_DAYS,
    )
