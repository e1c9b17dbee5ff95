"""Converts bars of the graph back to traded prices, with facts from the graph and the lake, once per run.

Only entities with splits since the first requested day are read. `assets.graph._basis` decides which bars are
proven.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

from assets.extraction import GraphReader, Record, RunFacts
from assets.feeds.lake_history import LakeStatements
from assets.graph import _basis, texts
from assets.patterns import KINDS
from assets.reading import as_dicts
from assets.splits import LakeSplits, Split, Stated, dated, merged
from pitlake.clock import OBSERVED_AT, new_york_day
from pitlake.datasets import av_daily_bars, prices
from pitlake.lake.lake import Lake

SPLITS = """
MATCH (v:Split)
RETURN v.ticker AS ticker, v.execution_date AS day, v.split_from AS before, v.split_to AS after,
       [(v)<-[:DECLARED_SPLIT]-(c:Company) | c.id] AS companies
"""
ENTITIES = """
MATCH (e) WHERE (e:Company OR e:Industry OR e:Sector OR e:MarketIndex)
    AND (coalesce(e.ticker, e.etf) IN $symbols OR (e:Company AND e.id IN $ids))
RETURN labels(e)[0] AS label, e.id AS entity_id, coalesce(e.ticker, e.etf) AS symbol
"""
SERIES = """
MATCH (d:Date)-[p:HAS_PRICE]->(e) WHERE e.id IN $ids AND d.date >= $lo
RETURN labels(e)[0] AS label, e.id AS entity_id, d.date AS date, p.open AS open, p.close AS close
"""
BATCH = 5000

Entity = tuple[str, str]  # label and id


class ProvenFactors(NamedTuple):
    """The factors that convert an entity's bars to traded prices, by day; None if not proven.

    Bars of other days are as traded since `since`, and unproven before.
    """

    since: date
    factors: Mapping[date, float | None]

    def __call__(self, day: date) -> float | None:
        return self.factors.get(day, 1.0 if day >= self.since else None)


Factors = Mapping[Entity, ProvenFactors]


class EntitySplits(NamedTuple):
    """An entity's symbol and its splits."""

    symbol: str
    splits: tuple[Split, ...]


def factors(graph: GraphReader, lake: Lake, run: RunFacts, days: Sequence[date]) -> Factors:
    """Return the factors of all bars of these days that precede a split. Raises GraphError, LakeError."""
    if not days:
        return {}
    entities = split_since(graph, lake, min(days), new_york_day(run.observed_at))
    if not entities:
        return {}
    # Closes are as traded if their source states traded prices, or if the lake observed them before any split that
    # could have changed them.
    statements, symbols = LakeStatements(lake), {entity_splits.symbol for entity_splits in entities.values()}
    raw: dict[str, dict[date, float]] = {}
    for bar in statements(av_daily_bars.DATASET, "ticker", symbols):
        if bar["close"] > 0:
            raw.setdefault(bar["ticker"], {}).setdefault(bar["date"], bar["close"])
    closes = {entity: dict(raw.get(entity_splits.symbol, {})) for entity, entity_splits in entities.items()}
    labels = {kind: label for label, kind in KINDS.items()}
    for bar in statements(prices.DATASET, "symbol", symbols):
        entity, seen = (labels[bar["entity_kind"]], bar["entity_id"]), new_york_day(bar[OBSERVED_AT])
        if entity in closes and bar["close"]:
            splits = entities[entity].splits
            if not any(bar["date"] < split.last and split.first <= seen for split in splits):
                closes[entity][bar["date"]] = bar["close"]
    bars_of: dict[Entity, list[_basis.Bar]] = {}
    params = {
        "ids": sorted({entity_id for _, entity_id in entities}),
        "lo": (min(days) - _basis.MOST_APART).isoformat(),
    }
    for node in _rows(graph, SERIES, params):
        entity, day = (str(node["label"]), str(node["entity_id"])), texts.leading_day(node["date"])
        found_prices = [texts.readable(texts.number, node[name]) for name in ("open", "close")]
        if entity in entities and day is not None and all(price is not None and price > 0 for price in found_prices):
            bars_of.setdefault(entity, []).append(_basis.Bar(day, *found_prices))
    series = {entity: sorted(bars) for entity, bars in bars_of.items()}
    return {
        entity: ProvenFactors(splits[-1].last, _basis.factors(series.get(entity, []), splits, closes[entity]))
        for entity, (_, splits) in entities.items()
    }


def split_since(graph: GraphReader, lake: Lake, since: date, until: date) -> dict[Entity, EntitySplits]:
    """Return every entity whose shares were split after `since` and by `until`, with all its splits by `until`."""
    by_symbol = {
        symbol: list(dated(statements))
        for symbol, statements in LakeSplits(lake, ("polygon_splits",)).statements.items()
    }
    by_company: dict[str, list[Stated]] = {}
    for node in _rows(graph, SPLITS, {}):
        day = texts.leading_day(node["day"])
        if day is not None:
            sides = [texts.readable(texts.number, side) for side in (node["before"], node["after"])]
            splits = day, sides[1] / sides[0] if all(side is not None and side > 0 for side in sides) else None
            for company in node["companies"]:
                by_company.setdefault(str(company), []).append(splits)
            if not node["companies"]:
                by_symbol.setdefault(str(node["ticker"]), []).append(splits)
    split_entities: dict[Entity, EntitySplits] = {}
    if not any(since < day for statements in (*by_company.values(), *by_symbol.values()) for day, _ in statements):
        return split_entities
    for node in _rows(graph, ENTITIES, {"symbols": sorted(by_symbol), "ids": sorted(by_company)}):
        label, entity_id, symbol = str(node["label"]), str(node["entity_id"]), str(node["symbol"])
        own = by_company.get(entity_id, []) if label == "Company" else []
        executed = [split for split in (*by_symbol.get(symbol, ()), *own) if split[0] <= until]
        if any(day > since for day, _ in executed):
            split_entities[label, entity_id] = EntitySplits(symbol, merged(executed))
    return split_entities


def _rows(graph: GraphReader, cypher: str, params: Mapping[str, Any]) -> Iterator[Record]:
    for batch in graph.stream(cypher, params, fetch_size=BATCH):
        yield from as_dicts(batch)
