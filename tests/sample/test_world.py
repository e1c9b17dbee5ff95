"""The whole world is the same on every machine, has no dangling references, and has the upstream's format and size."""

import os
import subprocess
import sys
from collections import Counter
from datetime import date

import pytest

from sample import world
from sample.actions import YARROWMART_YEARS
from sample.calendar import FIRST_DAY, HOLE, LAST_DAY, days, sessions
from sample.companies import DEAD, LIVING, companies
from sample.shapes import Graph
from tests.every import every

PASSED_THROUGH = {"Report": {"isAmendment", "is_xml"}, "News": {"embedding"}, "QAExchange": {"embedding"}}
LISTS = {"Context": {"member_u_ids", "dimension_u_ids"}}


def test_the_world_is_the_same_in_another_process_and_time_zone():
    command = [sys.executable, "-c", "from sample.world import digest; print(digest())"]
    environment = os.environ | {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "PYTHONPATH": "."}
    elsewhere = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.strip()
    assert elsewhere == world.digest()


def test_the_world_is_small_enough_to_load_quickly(parts):
    count_nodes, count_edges = (sum(part.graph.size[n] for part in parts) for n in (0, 1))
    assert 15_000 < count_nodes < 40_000
    assert 60_000 < count_nodes + count_edges < 130_000


def test_no_node_is_made_twice(parts):
    counts = Counter(
        (label, node_id) for part in parts for label, nodes in part.graph.nodes.items() for node_id in nodes
    )
    assert [node for node, times in counts.items() if times > 1] == []


def test_edges_lead_to_nodes_of_their_own_or_an_earlier_part(parts):
    there = set()
    for part in parts:
        there |= {(label, node_id) for label, nodes in part.graph.nodes.items() for node_id in nodes}
        for (start, _, end), edges in part.graph.edges.items():
            assert {(start, edge[0]) for edge in edges} | {(end, edge[1]) for edge in edges} <= there


def test_no_edge_is_made_twice(edges):
    for kind, result in edges.items():
        pairs = [(start, end) for start, end, _ in result]
        assert len(pairs) == len(set(pairs)), kind


def test_nodes_hold_only_texts_except_where_the_upstream_does_not(nodes):
    for label, result in nodes.items():
        native = PASSED_THROUGH.get(label, set()) | LISTS.get(label, set())
        odd = {name for node in result.values() for name, value in node.items() if not isinstance(value, str)}
        assert odd <= native, label


def test_relations_keep_numbers_and_real_booleans(edges):
    _, _, bar = edges["Date", "HAS_PRICE", "Company"][0]
    assert {type(value) for name, value in bar.items() if name != "timestamp"} == {float}
    assert {edge[2]["bidirectional"] for edge in edges["Company", "RELATED_TO", "Company"]} == {True}


def test_every_bar_has_all_nine_properties(edges):
    expected = {"open", "high", "low", "close", "vwap", "volume", "transactions", "daily_return", "timestamp"}
    for label in ("Company", "Sector", "MarketIndex"):
        assert every(set(bar) == expected for _, _, bar in edges["Date", "HAS_PRICE", label])


def test_the_open_and_close_of_a_bar_lie_between_its_low_and_high(edges):
    for _, _, bar in edges["Date", "HAS_PRICE", "Company"]:
        assert bar["low"] <= min(bar["open"], bar["close"]) <= max(bar["open"], bar["close"]) <= bar["high"]


def test_there_are_dates_for_all_days_but_the_hole():
    assert len(days()) + len(HOLE) == (LAST_DAY - FIRST_DAY).days + 1


def test_the_chain_of_days_breaks_only_at_the_hole(edges):
    links = edges["Date", "NEXT", "Date"]
    assert len(links) == len(days()) - 2
    assert ("2023-10-06", "2023-10-10") not in {link[:2] for link in links}


@pytest.mark.parametrize("day", [date(2025, 1, 9), date(2024, 3, 29), date(2024, 7, 4)])
def test_closed_days_have_no_session(day):
    assert day not in sessions()


@pytest.mark.parametrize("day", [date(2023, 7, 3), date(2023, 11, 24), date(2024, 12, 24)])
def test_early_closes_end_at_13_00_without_a_post_market(day):
    session = sessions()[day]
    assert (session.early, session.close.hour, session.post) == (True, 13, session.close)


def test_a_company_has_at_most_twelve_returns_and_a_benchmark_three(edges):
    most = max(len(facts) for _, _, facts in edges["News", "INFLUENCES", "Company"])
    assert most == 2 + 12
    for label in ("Industry", "Sector", "MarketIndex"):
        assert max(len(facts) for _, _, facts in edges["News", "INFLUENCES", label]) == 2 + 3


def test_facts_have_a_single_document_and_at_most_two_contexts(nodes, edges):
    assert len(edges["Fact", "REPORTS", "XBRLNode"]) == len(nodes["Fact"])
    contexts = Counter(start for start, _, _ in edges["Fact", "IN_CONTEXT", "Context"])
    assert (max(contexts.values()), len(nodes["Fact"]) - len(contexts)) == (2, 1)


def test_the_quarterly_dividends_of_yarrowmart_are_a_single_node_per_year(nodes):
    remaining = [node for node in nodes["Dividend"] if node.startswith("QYRW_")]
    assert len(remaining) == len(YARROWMART_YEARS)


def test_only_a_few_news_nodes_have_small_vectors(nodes):
    lengths = Counter(len(node["embedding"]) for node in nodes["News"].values() if "embedding" in node)
    assert set(lengths) == {32}
    assert 0 < lengths[32] < len(nodes["News"]) / 4


def test_a_larger_world_holds_the_smaller_one():
    small, large = list(companies()), list(companies(3))
    assert large[: len(small)] == small
    assert len({company.cik for company in large}) == len({company.ticker for company in large}) == len(large)
    assert len(large) == 3 * len(LIVING) + len(DEAD)


def test_the_part_of_an_invented_company_depends_only_on_its_position():
    def built(scale):
        existing = set()
        company = list(companies(scale))[2 * len(LIVING) + len(DEAD) - 1]
        return list(world._company(Graph(existing), company).records())

    assert built(2) == built(4)


def test_accession_numbers_name_no_real_filing(nodes):
    assert {accession[:4] for accession in nodes["Report"]} == {"0009"}


def test_missing_bars_and_reports_do_not_affect_their_neighbours(edges, nodes):
    bars = {edge[:2] for edge in edges["Date", "HAS_PRICE", "Company"]}
    qzp, qapt = (next(each.cik for each in LIVING if each.ticker == ticker) for ticker in ("QZP", "QAPT"))
    gone = {("2024-08-19", qzp), ("2024-02-13", qapt), ("2024-02-14", qapt)}
    assert gone.isdisjoint(bars)
    assert {("2024-08-16", qzp), ("2024-08-20", qzp), ("2024-02-12", qapt), ("2024-02-15", qapt)} <= bars
    quarters = [node["periodOfReport"] for node in nodes["Report"].values() if node.get("symbols") == '["QATW"]']
    assert {"2024-03-31", "2024-09-30"} <= set(quarters)
