"""Dividends of the graph and the splits that followed them: no order of loading dates a restated amount too early."""

from datetime import date, datetime, timedelta, timezone
from itertools import permutations

import neo4j
import pytest

from assets.graph import dividends, splits
from assets.runs import run_partitions
from pitlake.clock import end_of_new_york_day
from pitlake.lake.lake import Lake
from tests.toys import OBSERVED, between, seen, stored

DECLARED, EXECUTED = date(2024, 2, 20), date(2024, 2, 26)
DAYS = between("2024-02-15", "2024-03-05")
CLOSE = datetime(2024, 2, 26, 21, tzinfo=timezone.utc)
CIK, OTHER = "0000104169", "0001512673"


class Upstream:
    """A graph of dividends and splits, each a ticker, a day and the companies it hangs on."""

    def __init__(self, dividend_nodes, split_nodes):
        self.dividends, self.splits = dividend_nodes, split_nodes

    def stream(self, cypher, params, *, fetch_size):
        lo, hi = params.get("lo", ""), params.get("hi", "9")
        if cypher == dividends.WINDOW:
            found = [self.dividend(*node) for node in self.dividends if lo <= str(node[1]) < hi]
        elif "(v:Split)" in cypher and cypher != splits.UNDATED:
            found = [self.split(*node) for node in self.splits if lo <= str(node[1]) < hi]
        else:
            found = []
        if found:
            yield list(map(neo4j.Record, found))

    def dividend(self, ticker, day, companies=(CIK,)):
        dated = {"declaration_date": str(day), "ex_dividend_date": str(day + timedelta(days=9))}
        told = {"dividend_id": f"{ticker}_{day}_Regular", "ticker": ticker, "cash_amount": 0.207, "currency": "USD"}
        empty = dict.fromkeys(("dividend_type", "record_date", "pay_date", "frequency"))
        return told | dated | empty | self.links(day, companies)

    def split(self, ticker, day, companies=(CIK,), after=3.0):
        told = {"node": f"{ticker}_{day}", "ticker": ticker, "execution_date": str(day), "split_from": 1.0}
        return told | {"split_to": after} | self.links(day, companies)

    def links(self, day, companies):
        close = f"{day} 16:00:00-0500" if day.weekday() < 5 else None
        return {"date_nodes": [[str(day), close]], "companies": list(companies)}


def load(lake, upstream, order, days=DAYS):
    for extractor in order:
        run_partitions(extractor, days, upstream, lake, run_id=extractor.dataset.name, observed_at=OBSERVED)


def available(lake):
    return {row["dividend_id"]: row["available_at"] for row in stored(lake, "dividends")}


@pytest.mark.parametrize("order", [*permutations((dividends.EXTRACTOR, splits.EXTRACTOR))], ids=["before", "after"])
def test_a_dividend_is_dated_by_a_later_split_whichever_is_loaded_first(lake, order):
    load(lake, Upstream([("WMT", DECLARED)], [("WMT", EXECUTED)]), order)
    assert available(lake) == {"WMT_2024-02-20_Regular": CLOSE}


@pytest.mark.parametrize(
    ("split", "since"),
    [
        (("WMT", EXECUTED, (), 3.0), CLOSE),
        (("XYZ", EXECUTED, (CIK,), 3.0), CLOSE),
        (("XYZ", EXECUTED, (OTHER,), 3.0), None),
        (("WMT", EXECUTED, (CIK,), None), CLOSE),
        (("WMT", date(2024, 2, 24), (CIK,), 3.0), end_of_new_york_day(date(2024, 2, 24))),
        (("WMT", date(2024, 2, 19), (CIK,), 3.0), None),
        (("WMT", OBSERVED.date() + timedelta(days=5), (CIK,), 3.0), None),
    ],
    ids=["by ticker", "by company", "another company", "no ratio", "on a Saturday", "earlier", "not executed yet"],
)
def test_a_split_of_the_company_or_of_its_ticker_that_was_executed_since(lake, split, since):
    load(lake, Upstream([("WMT", DECLARED)], [split]), [dividends.EXTRACTOR])
    assert available(lake) == {"WMT_2024-02-20_Regular": since or end_of_new_york_day(DECLARED)}


def test_what_was_loaded_before_its_split_keeps_its_date_and_its_restatement_is_dated_by_the_load(lake):
    upstream = Upstream([("WMT", DECLARED)], [])
    early = OBSERVED - timedelta(days=1)
    run_partitions(dividends.EXTRACTOR, DAYS, upstream, lake, run_id="early", observed_at=early)
    upstream.splits = [("WMT", EXECUTED)]
    load(lake, upstream, [dividends.EXTRACTOR])
    assert available(lake) == {"WMT_2024-02-20_Regular": end_of_new_york_day(DECLARED)}
    plain = upstream.dividend
    upstream.dividend = lambda *node: plain(*node) | {"cash_amount": 0.069}
    run_partitions(
        dividends.EXTRACTOR, [EXECUTED], upstream, lake, run_id="later", observed_at=OBSERVED + timedelta(days=1)
    )
    rows = {row["cash_amount"]: row["available_at"] for row in stored(lake, "dividends")}
    assert rows == {0.207: end_of_new_york_day(DECLARED), 0.069: OBSERVED + timedelta(days=1)}


def test_day_by_day_makes_the_lake_that_all_days_at_once_make(tmp_path):
    declared = [("WMT", DECLARED - timedelta(days=n)) for n in range(4)] + [("KO", DECLARED, (OTHER,))]
    upstream = Upstream(declared, [("WMT", EXECUTED), ("KO", EXECUTED + timedelta(days=2), (OTHER,))])
    whole, parts = Lake(tmp_path / "whole"), Lake(tmp_path / "parts")
    load(whole, upstream, [dividends.EXTRACTOR])
    for day in DAYS[::-1]:
        load(parts, upstream, [dividends.EXTRACTOR], [day])
    assert seen(parts, "dividends") == seen(whole, "dividends")
    assert len(stored(whole, "dividends")) == len([one for one in declared if one[1].weekday() < 5])
