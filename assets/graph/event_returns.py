"""Dataset `event_returns`: price changes after an event, from the return properties of its edges. Open mode only."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
from math import inf, log, log1p
from typing import Any

from assets.extraction import Contest, Extractor, GraphReader, Place, Record, RunFacts, dated
from assets.graph import _traded, texts
from assets.graph._traded import Entity, EntitySplits
from assets.graph.news import is_news
from assets.patterns import KINDS
from assets.splits import ODD_RETURN, SAME_SPLIT_WITHIN, between, fits, resembles
from pitlake.clock import new_york_day
from pitlake.datasets import event_returns as contract
from pitlake.datasets.event_returns import DATASET
from pitlake.errors import RecordRefused
from pitlake.lake.lake import Lake

HORIZONS = ("hourly", "session", "daily")
BENCHMARKS = ("stock", "industry", "sector", "macro")
LONGEST_WINDOW = timedelta(days=10)
# The longest time from the close before an event to the event.
CLOSE_BEFORE = timedelta(days=5)

SplitEntities = Mapping[Entity, EntitySplits]

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
    """Yield one source record per return on the edge."""
    schedule = texts.readable(texts.mapping, record["schedule"]) or {}
    for horizon in HORIZONS:
        for benchmark in BENCHMARKS:
            value = record["edge"].get(f"{horizon}_{benchmark}")
            if value is not None:
                window = {"horizon": horizon, "window_end": schedule.get(horizon)}
                yield {**record, **window, "benchmark": benchmark, "value": value}


def locate(record: Record, _run: RunFacts, split_entities: SplitEntities) -> Place:
    """Return the end of the return's window, which must follow its event within LONGEST_WINDOW."""
    edge = f"{record['relation']}/{record['label']}:{record['entity_id']}/{record['horizon']}/{record['benchmark']}"
    evidence = f"neo4j:{record['event_label']}:{record['event_id']}/{edge}"
    day = texts.leading_day(record["happened_at"])
    happened = texts.readable(texts.published, record["happened_at"])
    window_end = texts.readable(texts.published, record["window_end"])
    if record["event_kind"] == "news" and not is_news(record["event_id"]):
        return Place(evidence, day=day, reason=contract.NOT_NEWS.reason)
    if happened is None:
        return Place(evidence, day=day, reason=contract.NO_EVENT.reason)
    if window_end is None:
        return Place(evidence, day=day, reason=contract.NO_WINDOW.reason)
    if window_end < happened:
        return Place(evidence, day=day, reason=contract.BACKWARD_WINDOW.reason)
    if window_end > happened + LONGEST_WINDOW:
        return Place(evidence, day=day, reason=contract.FAR_WINDOW.reason)
    if not _one_basis(record, happened, window_end, split_entities):
        return Place(evidence, day=day, reason=contract.NO_BASIS.reason)
    return dated(evidence, window_end)


def _one_basis(record: Record, happened: datetime, window_end: datetime, split_entities: SplitEntities) -> bool:
    """Return whether a holder may have earned this return.

    It was not earned if a split in the window, recorded or not, explains it. It was not earned either if it is as large
    as the effect of a split recorded within a week of the window, because its two prices may differ in their basis.
    """
    percent = texts.readable(texts.first_number, record["value"])
    if percent is None:
        return True
    entity = split_entities.get((record["label"], str(record["entity_id"])))
    splits = entity.splits if entity is not None and record["benchmark"] == "stock" else ()
    first, last = new_york_day(happened), new_york_day(window_end)
    shares = between(splits, first - CLOSE_BEFORE, last)
    move = log1p(percent / 100) if percent > -100 else -inf
    if shares is None or abs(move) >= ODD_RETURN or not fits(move, log(shares)):
        return False
    first, last = first - SAME_SPLIT_WITHIN, last + SAME_SPLIT_WITHIN
    near = [split for split in splits if first <= split.last and split.first <= last]
    return not any(resembles(move, split.ratio or 1.0) for split in near)


def values(record: Record) -> dict[str, Any]:
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


def extractor(split_entities: SplitEntities) -> Extractor:
    return replace(EXTRACTOR, locate=partial(locate, split_entities=split_entities), prepared=None)


def prepared(graph: GraphReader, lake: Lake, run: RunFacts, days: Sequence[date]) -> Extractor:
    """Return the extractor for these days, with the splits in the windows that end on them. Raises GraphError."""
    if not days:
        return extractor({})
    since = min(days) - LONGEST_WINDOW - SAME_SPLIT_WITHIN
    return extractor(_traded.split_since(graph, lake, since, new_york_day(run.observed_at)))


EXTRACTOR = Extractor(
    dataset=DATASET,
    windows=WINDOWS,
    sweeps=SWEEPS,
    locate=partial(locate, split_entities={}),
    values=values,
    split=split,
    prepared=prepared,
    contest=Contest(
        group=DATASET.key,
        contender=lambda record: record["relation"],
        rank=lambda record: (int(record["relation"] == "PRIMARY_FILER"), 0),
        reason=contract.OTHER_EDGE.reason,
    ),
    trail=LONGEST_WINDOW.days,
)
