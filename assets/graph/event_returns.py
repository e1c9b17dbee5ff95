"""Dataset `event_returns`: what prices did after an event, from the return properties of its edges. Open mode only."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from assets.extraction import Contest, Extractor, Place, Record, RunFacts, dated
from assets.graph import texts
from assets.graph._traded import KINDS
from assets.graph.news import NEWS_ID
from pitlake.datasets import event_returns as contract
from pitlake.datasets.event_returns import DATASET
from pitlake.errors import RecordRefused

HORIZONS = ("hourly", "session", "daily")
BENCHMARKS = ("stock", "industry", "sector", "macro")
LONGEST_WINDOW = timedelta(days=10)

EVENTS = {
    "news": ("News", "INFLUENCES", "created", "n.returns_schedule"),
    "report": ("Report", "PRIMARY_FILER|REFERENCED_IN|INFLUENCES", "created", "n.returns_schedule"),
    "transcript": ("Transcript", "INFLUENCES", "conference_datetime", "null"),
}


def _query(kind: str, where: str) -> str:
    label, relations, moment, schedule = EVENTS[kind]
    return f"""
MATCH (n:{label})-[i:{relations}]->(e)
WHERE {where.format(moment=f"n.{moment}")}
RETURN '{kind}' AS event_kind, '{label}' AS event_label, n.id AS event_id, n.{moment} AS happened_at,
       {schedule} AS schedule, type(i) AS relation, labels(e)[0] AS label, e.id AS entity_id,
       coalesce(i.symbol, e.ticker, e.etf) AS ticker, properties(i) AS edge
"""


WINDOWS = tuple(_query(kind, "{moment} >= $lo AND {moment} < $hi") for kind in EVENTS)
SWEEPS = tuple(_query(kind, "NOT coalesce({moment} =~ $dated, false)") for kind in EVENTS)


def split(record: Record) -> Iterator[Record]:
    """One source record per return the edge carries."""
    schedule = texts.readable(texts.mapping, record["schedule"]) or {}
    for horizon in HORIZONS:
        for benchmark in BENCHMARKS:
            value = record["edge"].get(f"{horizon}_{benchmark}")
            if value is not None:
                window = {"horizon": horizon, "window_end": schedule.get(horizon)}
                yield {**record, **window, "benchmark": benchmark, "value": value}


def locate(record: Record, _run: RunFacts) -> Place:
    """The end of the return's window, which must follow its event and not lie absurdly far from it."""
    edge = f"{record['relation']}/{record['label']}:{record['entity_id']}/{record['horizon']}/{record['benchmark']}"
    evidence = f"neo4j:{record['event_label']}:{record['event_id']}/{edge}"
    day = texts.leading_day(record["happened_at"])
    happened = texts.readable(texts.published, record["happened_at"])
    window_end = texts.readable(texts.published, record["window_end"])
    if record["event_kind"] == "news" and not NEWS_ID.fullmatch(str(record["event_id"])):
        return Place(evidence, day=day, reason=contract.NOT_NEWS.reason)
    if happened is None:
        return Place(evidence, day=day, reason=contract.NO_EVENT.reason)
    if window_end is None:
        return Place(evidence, day=day, reason=contract.NO_WINDOW.reason)
    if window_end < happened:
        return Place(evidence, day=day, reason=contract.BACKWARD_WINDOW.reason)
    if window_end > happened + LONGEST_WINDOW:
        return Place(evidence, day=day, reason=contract.FAR_WINDOW.reason)
    return dated(evidence, window_end)


def values(record: Record) -> dict[str, Any]:
    """The business columns of one return."""
    percent, kind = texts.readable(texts.first_number, record["value"]), KINDS.get(record["label"])
    if percent is None:
        raise RecordRefused(contract.NO_PERCENT.reason)
    if kind is None:
        raise RecordRefused(contract.NO_ENTITY.reason)
    return {
        "event_kind": record["event_kind"],
        "event_id": record["event_id"],
        "entity_kind": kind,
        "entity_id": record["entity_id"],
        "ticker": texts.word(record["ticker"]),
        "horizon": record["horizon"],
        "benchmark": record["benchmark"],
        "percent": percent,
        "window_end": texts.instant(record["window_end"]),
    }


EXTRACTOR = Extractor(
    dataset=DATASET,
    windows=WINDOWS,
    sweeps=SWEEPS,
    locate=locate,
    values=values,
    split=split,
    contest=Contest(
        group=DATASET.key,
        contender=lambda record: record["relation"],
        rank=lambda record: (int(record["relation"] == "PRIMARY_FILER"), 0),
        reason=contract.OTHER_EDGE.reason,
    ),
    trail=LONGEST_WINDOW.days,
)
