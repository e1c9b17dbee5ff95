"""The order in which datasets are loaded: each one after the datasets that date, name or produce its records.

Dagster's assets, `pitlake sync`, `pitlake fetch`, bulk loads and replays all take their order from here.
"""

from collections.abc import Iterable
from functools import cache
from graphlib import TopologicalSorter

from assets.derived import earnings_events, names, text_vectors
from assets.drops import all_drops
from assets.external import all_feeds
from assets.extraction import Extractor
from assets.feeds.feed import Feed
from assets.graph import all_extractors


@cache
def dependencies() -> dict[str, tuple[str, ...]]:
    """Return the datasets that each dataset needs first, as declared by its feed, extractor or derivation."""
    declared: dict[str, Feed | Extractor] = {**all_feeds(), **all_drops(), **all_extractors()}
    derived = {module.DATASET.name: module.READS for module in (names, earnings_events, text_vectors)}
    return {name: source.after for name, source in declared.items()} | derived | {"drift": tuple(all_feeds())}


@cache
def ranks() -> dict[str, int]:
    """Return the position of each dataset in the order of loading. Raises CycleError if datasets need one another."""
    sorter = TopologicalSorter(dependencies())
    sorter.prepare()
    order: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        order += ready
        sorter.done(*ready)
    return {name: place for place, name in enumerate(order)}


def in_order(datasets: Iterable[str]) -> list[str]:
    """Return the given datasets in the order of loading, without duplicates."""
    return sorted(set(datasets), key=ranks().__getitem__)
