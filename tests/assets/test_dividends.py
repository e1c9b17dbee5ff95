"""Dividends and later splits in the graph: no loading order dates a restated amount too early."""

from datetime import date, datetime, timedelta, timezone
from itertools import permutations

import neo4j
import pytest

from assets.graph import dividends, splits
from pitlake.clock import end_of_new_york_day
from pitlake.lake.lake import Lake
from pitlake.session.api import connect
from tests.partitions import run_partitions
from tests.toys import OBSERVED, between, seen, stored

DECLARED, EXECUTED = date(2024, 2, 20), date(2024, 2, 26)
DAYS = between("2024-02-15", "2024-03-05")
CLOSE = datetime(2024, 2, 26, 21, tzinfo=timezone.utc)
CIK, OTHER = "0009800008", "0001512673"
PAID = f"{CIK}_2024-02-20_Regular"


class Upstream:
    """A graph of dividends and splits, each with a ticker, a day and linked companies."""

    def __init__(self, dividend_nodes, split_nodes):
        self.dividends, self.splits = dividend_nodes, split_nodes

    def stream(self, cypher, params, *, fetch_size):
        lo, hi = params.get("lo", ""), params.get("hi", "9")
        if cypher == dividends.WINDOW:
            result = [self.dividend(*node) for node in self.dividends if lo <= str(node[1]) < hi]
        elif "(v:Split)" in cypher and cypher != splits.UNDATED:
            result = [self.split(*node) for node in self.splits if lo <= str(node[1]) < hi]
        else:
            result = []
        if result:
            yield list(map(neo4j.Record, result))

    def dividend(self, ticker, day, companies=(CIK,), amount=0.207):
        dated = {"declaration_date": str(day), "ex_dividend_date": str(day + timedelta(days=9))}
        reply = {"node": f"{ticker}_{day}_Regular", "ticker": ticker, "cash_amount": amount, "currency": "USD"}
        empty = dict.fromkeys(("record_date", "pay_date", "frequency")) | {"dividend_type": "Regular"}
        return reply | dated | empty | self.links(day, companies)

    def split(self, ticker, day, companies=(CIK,), after=3.0):
        reply = {"node": f"{ticker}_{day}", "ticker": ticker, "execution_date": str(day), "split_from": 1.0}
        return reply | {"split_to": after} | self.links(day, companies)

    def links(self, day, companies):
        close = f"{day} 16:00:00-0500" if day.weekday() < 5 else None
        return {"date_nodes": [[str(day), close]], "cik": list(companies)}


def load(lake, upstream, order, days=DAYS):
    for extractor in order:
        run_partitions(extractor, days, upstream, lake, run_id=extractor.dataset.name, observed_at=OBSERVED)


def available(lake):
    return {row["dividend_id"]: row["available_at"] for row in stored(lake, "dividends")}


@pytest.mark.parametrize("order", [*permutations((dividends.EXTRACTOR, splits.EXTRACTOR))], ids=["before", "after"])
def test_a_dividend_is_dated_by_a_later_split_whichever_is_loaded_first(lake, order):
    load(lake, Upstream([("QYRW", DECLARED)], [("QYRW", EXECUTED)]), order)
    assert available(lake) == {PAID: CLOSE}


@pytest.mark.parametrize(
    ("split", "since"),
    [
        (("QYRW", EXECUTED, (), 3.0), CLOSE),
        (("XYZ", EXECUTED, (CIK,), 3.0), CLOSE),
        (("XYZ", EXECUTED, (OTHER,), 3.0), None),
        (("QYRW", EXECUTED, (CIK,), None), CLOSE),
        (("QYRW", date(2024, 2, 24), (CIK,), 3.0), end_of_new_york_day(date(2024, 2, 24))),
        (("QYRW", date(2024, 2, 19), (CIK,), 3.0), None),
        (("QYRW", OBSERVED.date() + timedelta(days=5), (CIK,), 3.0), None),
    ],
    ids=["by ticker", "by company", "another company", "no ratio", "on a Saturday", "earlier", "not executed yet"],
)
def test_a_dividend_counts_from_a_later_split_of_its_company_or_ticker(lake, split, since):
    load(lake, Upstream([("QYRW", DECLARED)], [split]), [dividends.EXTRACTOR])
    assert available(lake) == {PAID: since or end_of_new_york_day(DECLARED)}


def test_a_split_that_becomes_public_at_the_observation_itself_counts(lake):
    upstream = Upstream([("QYRW", DECLARED)], [("QYRW", EXECUTED)])
    run_partitions(dividends.EXTRACTOR, [DECLARED, EXECUTED], upstream, lake, run_id="close", observed_at=CLOSE)
    assert available(lake) == {PAID: CLOSE}


def test_a_dividend_loaded_before_a_split_keeps_its_date_and_is_restated_on_reload(lake):
    upstream = Upstream([("QYRW", DECLARED)], [])
    early = OBSERVED - timedelta(days=1)
    run_partitions(dividends.EXTRACTOR, DAYS, upstream, lake, run_id="early", observed_at=early)
    upstream.splits = [("QYRW", EXECUTED)]
    load(lake, upstream, [dividends.EXTRACTOR])
    assert available(lake) == {PAID: end_of_new_york_day(DECLARED)}
    plain = upstream.dividend
    upstream.dividend = lambda *node: plain(*node) | {"cash_amount": 0.069}
    run_partitions(
        dividends.EXTRACTOR, [EXECUTED], upstream, lake, run_id="later", observed_at=OBSERVED + timedelta(days=1)
    )
    rows = {row["cash_amount"]: row["available_at"] for row in stored(lake, "dividends")}
    assert rows == {0.207: end_of_new_york_day(DECLARED), 0.069: OBSERVED + timedelta(days=1)}


def test_loading_day_by_day_gives_the_same_lake_as_loading_all_days_at_once(tmp_path):
    declared = [("QYRW", DECLARED - timedelta(days=n)) for n in range(4)] + [("QAU", DECLARED, (OTHER,))]
    upstream = Upstream(declared, [("QYRW", EXECUTED), ("QAU", EXECUTED + timedelta(days=2), (OTHER,))])
    whole, parts = Lake(tmp_path / "whole"), Lake(tmp_path / "parts")
    load(whole, upstream, [dividends.EXTRACTOR])
    for day in DAYS[::-1]:
        load(parts, upstream, [dividends.EXTRACTOR], [day])
    assert seen(parts, "dividends") == seen(whole, "dividends")
    assert len(stored(whole, "dividends")) == len([each for each in declared if each[1].weekday() < 5])


@pytest.mark.parametrize("dataset", [dividends, splits])
def test_a_record_under_a_former_and_a_current_ticker_is_stored_once(lake, dataset):
    nodes = [("SQ", EXECUTED), ("XYZ", EXECUTED)]
    load(lake, Upstream(nodes, nodes), [dataset.EXTRACTOR])
    name = dataset.EXTRACTOR.dataset.name
    assert [(row["ticker"], row["cik"]) for row in stored(lake, name)] == [("XYZ", CIK)]
    assert stored(lake, f"gaps/{name}") == []


@pytest.mark.parametrize("dataset", [dividends, splits])
def test_a_ticker_change_in_the_graph_is_a_revision_of_earlier_records(lake, dataset):
    upstream, name = Upstream([("SQ", EXECUTED)], [("SQ", EXECUTED)]), dataset.EXTRACTOR.dataset.name
    early, later = OBSERVED - timedelta(days=1), OBSERVED + timedelta(days=1)
    run_partitions(dataset.EXTRACTOR, DAYS, upstream, lake, run_id="early", observed_at=early)
    upstream.dividends, upstream.splits = [("XYZ", EXECUTED)], [("XYZ", EXECUTED)]
    run_partitions(dataset.EXTRACTOR, DAYS, upstream, lake, run_id="later", observed_at=OBSERVED)
    for as_of, ticker in ((early, "SQ"), (later, "XYZ")):
        with connect(as_of=as_of, lake=lake, datasets=[name]) as session:
            assert session.sql(f"SELECT ticker, cik FROM {name}").rows() == [(ticker, CIK)]


@pytest.mark.parametrize(
    ("dataset", "nodes", "reason"),
    [
        (
            dividends,
            [("SQ", EXECUTED, (CIK,), 0.207), ("XYZ", EXECUTED, (CIK,), 0.069)],
            "two contents of one dividend",
        ),
        (splits, [("SQ", EXECUTED, (CIK,), 2.0), ("XYZ", EXECUTED, (CIK,), 3.0)], "two ratios for one day"),
    ],
)
def test_conflicting_nodes_of_the_same_company_are_a_row_and_a_gap(lake, dataset, nodes, reason):
    load(lake, Upstream(nodes, nodes), [dataset.EXTRACTOR])
    name = dataset.EXTRACTOR.dataset.name
    assert [row["ticker"] for row in stored(lake, name)] == ["XYZ"]
    assert [gap["reason"] for gap in stored(lake, f"gaps/{name}")] == [reason]


@pytest.mark.parametrize("companies", [(), (CIK, OTHER)], ids=["none", "two"])
@pytest.mark.parametrize("dataset", [dividends, splits])
def test_a_record_linked_to_no_company_or_to_several_is_stored_by_its_ticker(lake, dataset, companies):
    nodes = [("SQ", EXECUTED, companies), ("XYZ", EXECUTED, companies)]
    load(lake, Upstream(nodes, nodes), [dataset.EXTRACTOR])
    rows = stored(lake, dataset.EXTRACTOR.dataset.name)
    assert sorted((row["ticker"], row["cik"]) for row in rows) == [("SQ", None), ("XYZ", None)]


def test_a_dividend_is_dated_by_a_split_of_its_company_under_another_ticker(lake):
    load(lake, Upstream([], [("SQ", EXECUTED)]), [splits.EXTRACTOR])
    unprepared = dividends.extractor({})
    run_partitions(unprepared, DAYS, Upstream([("XYZ", DECLARED)], []), lake, run_id="late", observed_at=OBSERVED)
    assert available(lake) == {PAID: CLOSE}
