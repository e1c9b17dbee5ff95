"""Returns after events: one record per return, and a gap for every return that may be caused by a split."""

from datetime import date

import neo4j
import pytest

from assets.graph import _traded
from assets.graph._traded import EntitySplits
from assets.graph.event_returns import EXTRACTOR, extractor
from assets.splits import merged
from pitlake.lake.lake import Lake
from tests.assets.records import record


def pieces(**changes):
    return list(EXTRACTOR.split(record("event_returns", **changes)))


def test_each_return_is_a_record_of_its_own():
    assert [(piece["horizon"], piece["benchmark"]) for piece in pieces()] == [("session", "macro"), ("daily", "stock")]


def reason_of(run, percent, *splits, **changes):
    """Return the reason of the gap, or None, for a return of a company with these splits, each (day, ratio)."""
    piece = pieces(edge={"daily_stock": percent}, **changes)[0]
    split = extractor({("Company", "0000320193"): EntitySplits("AAPL", merged(splits))})
    return getattr(split.normalise(piece, run), "reason", None)


@pytest.mark.parametrize("percent", [-67.56, -50.0, 100.0, 1900.0, -100.0])
def test_a_return_as_large_as_a_split_is_unproven_even_without_a_recorded_split(run, percent):
    assert reason_of(run, percent) == "return may be a split's"


@pytest.mark.parametrize("day", [date(2024, 5, 2), date(2024, 5, 3)])
@pytest.mark.parametrize(("ratio", "percent"), [(3.0, -67.0), (1.5, -33.3), (0.1, 890.0), (1.3, -23.0)])
def test_a_return_equal_to_that_of_a_split_in_its_window_is_unproven(run, day, ratio, percent):
    assert reason_of(run, percent, (day, ratio)) == "return may be a split's"
    assert reason_of(run, 5.06, (day, ratio)) is None


def test_no_return_is_proven_across_a_split_of_uncertain_ratio(run):
    assert reason_of(run, 5.06, (date(2024, 5, 3), None)) == "return may be a split's"


@pytest.mark.parametrize("day", [date(2024, 4, 24), date(2024, 5, 11)])
def test_a_split_more_than_a_week_from_the_window_leaves_a_return_proven(run, day):
    assert reason_of(run, -33.3, (day, 1.5)) is None


@pytest.mark.parametrize("day", [date(2024, 4, 25), date(2024, 5, 1), date(2024, 5, 4), date(2024, 5, 10)])
@pytest.mark.parametrize(("ratio", "percent"), [(4 / 3, -25.0), (4 / 3, 33.3), (1.5, -33.3), (0.75, 30.0)])
def test_a_return_as_large_as_that_of_a_split_within_a_week_is_unproven(run, day, ratio, percent):
    assert reason_of(run, percent, (day, ratio)) == "return may be a split's"
    assert reason_of(run, 5.06, (day, ratio)) is None


def test_returns_are_judged_by_the_splits_that_the_graph_records_for_the_company(run, tmp_path):
    class Graph:
        def stream(self, cypher, params, *, fetch_size):
            entity = {"label": "Company", "entity_id": "0000320193", "symbol": "AAPL"}
            split = {"ticker": "AAPL", "day": "2024-05-03", "before": 2.0, "after": 3.0, "companies": ["0000320193"]}
            yield [neo4j.Record({_traded.SPLITS: split, _traded.ENTITIES: entity}[cypher])]

    prepared = EXTRACTOR.prepared(Graph(), Lake(tmp_path / "lake"), run, [date(2024, 5, 2), date(2024, 5, 3)])
    assert prepared.normalise(pieces(edge={"daily_stock": -33.3})[0], run).reason == "return may be a split's"
