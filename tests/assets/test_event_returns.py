"""Returns after events: dated by the window's end, one source record per return, and impossible windows."""

from datetime import date, datetime, timedelta, timezone

import neo4j
import pytest

from assets.graph import _traded
from assets.graph._traded import EntitySplits
from assets.graph.event_returns import EXTRACTOR, extractor
from assets.splits import merged
from pitlake.lake.lake import Lake

SCHEDULE = (
    '{"hourly": "2024-05-02T17:30:00-04:00", "session": "2024-05-03T09:30:00-04:00",'
    ' "daily": "2024-05-03T16:00:00-04:00"}'
)


def edge(**changes):
    return {
        "event_kind": "news",
        "event_label": "News",
        "event_id": "bzNews_1",
        "happened_at": "2024-05-02T16:30:00-04:00",
        "schedule": SCHEDULE,
        "relation": "INFLUENCES",
        "label": "Company",
        "entity_id": "0000320193",
        "ticker": "AAPL",
        "edge": {"symbol": "AAPL", "daily_stock": 5.06, "hourly_stock": None, "session_macro": 0.1},
    } | changes


def pieces(**changes):
    return list(EXTRACTOR.split(edge(**changes)))


def outcome(run, **changes):
    return EXTRACTOR.normalise(pieces(**({"edge": {"daily_stock": 5.06}} | changes))[0], run)


def test_each_return_is_a_record_of_its_own():
    assert [(piece["horizon"], piece["benchmark"]) for piece in pieces()] == [("session", "macro"), ("daily", "stock")]


def test_a_return_is_available_at_the_end_of_its_window(run):
    row = outcome(run)
    assert row.available_at == row.values["window_end"] == datetime(2024, 5, 3, 20, tzinfo=timezone.utc)
    assert row.evidence == "neo4j:News:bzNews_1/INFLUENCES/Company:0000320193/daily/stock"


def test_a_list_stands_for_its_first_return(run):
    assert outcome(run, edge={"daily_stock": [1.5, 2.5]}).values["percent"] == 1.5


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"edge": {"daily_stock": float("nan")}}, "return is not a number"),
        ({"edge": {"daily_stock": []}}, "return is not a number"),
        ({"schedule": None}, "window end is missing or unreadable"),
        ({"schedule": "{broken"}, "window end is missing or unreadable"),
        ({"schedule": '{"daily": "2024-05-02T13:00:00-04:00"}'}, "window ends before its event"),
        ({"schedule": '{"daily": "2025-05-02T13:00:00-04:00"}'}, "window ends too far from its event"),
        ({"event_id": "bzNews_0000320193-25-000073"}, "not a news id"),
        ({"happened_at": ""}, "event is undated"),
        ({"label": "Commodity"}, "unknown kind of entity"),
    ],
)
def test_returns_that_are_gaps(run, change, reason):
    assert outcome(run, **change).reason == reason


def test_an_undatable_return_is_filed_under_its_event(run):
    assert outcome(run, schedule=None).day == date(2024, 5, 2)


def test_an_open_window_is_not_public_yet(run):
    soon = run.observed_at + timedelta(days=1)
    schedule = f'{{"daily": "{soon.isoformat()}"}}'
    gap = outcome(run, happened_at=run.observed_at.isoformat(), schedule=schedule)
    assert (gap.type, gap.reason, gap.available_at) == ("pit_excluded", "window is still open", None)


def with_splits(*splits):
    """The extractor where the company's shares were split: (day, ratio)."""
    return extractor({("Company", "0000320193"): EntitySplits("AAPL", merged(splits))})


def reason_of(run, percent, *splits, **changes):
    record = next(iter(EXTRACTOR.split(edge(edge={"daily_stock": percent}, **changes))))
    return getattr(with_splits(*splits).normalise(record, run), "reason", None)


@pytest.mark.parametrize("percent", [-67.56, -50.0, 100.0, 1900.0, -100.0])
def test_a_return_as_large_as_a_split_s_is_not_proven_without_one(run, percent):
    assert reason_of(run, percent) == "return may be a split's"


@pytest.mark.parametrize("day", [date(2024, 5, 2), date(2024, 5, 3)])
@pytest.mark.parametrize(("ratio", "percent"), [(3.0, -67.0), (1.5, -33.3), (0.1, 890.0), (1.3, -23.0)])
def test_a_return_that_is_that_of_a_split_in_its_window_is_not_proven(run, day, ratio, percent):
    assert reason_of(run, percent, (day, ratio)) == "return may be a split's"
    assert reason_of(run, 5.06, (day, ratio)) is None


def test_a_split_whose_ratio_is_uncertain_proves_no_return(run):
    assert reason_of(run, 5.06, (date(2024, 5, 3), None)) == "return may be a split's"


@pytest.mark.parametrize("day", [date(2024, 4, 24), date(2024, 5, 11)])
def test_a_split_more_than_a_week_from_the_window_takes_no_return_away(run, day):
    assert reason_of(run, -33.3, (day, 1.5)) is None


@pytest.mark.parametrize("day", [date(2024, 4, 25), date(2024, 5, 1), date(2024, 5, 4), date(2024, 5, 10)])
@pytest.mark.parametrize(("ratio", "percent"), [(4 / 3, -25.0), (4 / 3, 33.3), (1.5, -33.3), (0.75, 30.0)])
def test_a_return_as_large_as_that_of_a_split_within_a_week_of_the_window_is_not_proven(run, day, ratio, percent):
    assert reason_of(run, percent, (day, ratio)) == "return may be a split's"
    assert reason_of(run, 5.06, (day, ratio)) is None


def test_returns_of_a_split_company_are_judged_by_what_the_graph_has_of_it(run, tmp_path):
    class Graph:
        def stream(self, cypher, params, *, fetch_size):
            entity = {"label": "Company", "entity_id": "0000320193", "symbol": "AAPL"}
            split = {"ticker": "AAPL", "day": "2024-05-03", "before": 2.0, "after": 3.0, "companies": ["0000320193"]}
            yield [neo4j.Record({_traded.SPLITS: split, _traded.ENTITIES: entity}[cypher])]

    prepared = EXTRACTOR.prepared(Graph(), Lake(tmp_path / "lake"), run, [date(2024, 5, 2), date(2024, 5, 3)])
    assert prepared.normalise(pieces(edge={"daily_stock": -33.3})[0], run).reason == "return may be a split's"
