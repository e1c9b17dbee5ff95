"""The formats in which the upstream graph writes values."""

from datetime import date, datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sample.shapes import Graph, blank_new_york, display, iso_new_york, new_york

SPELLINGS = [
    (None, "null"),
    (True, "1"),
    (False, "0"),
    (2025, "2,025"),
    (-1234567, "-1,234,567"),
    (0.2475, "0.247"),
    (0.7075, "0.708"),
    (0.0, "0"),
    (-0.0004, "-0"),
    (1_500_000.5, "1,500,000.5"),
    (date(2024, 2, 29), "2024-02-29"),
    ("as it is", "as it is"),
]


@pytest.mark.parametrize(("value", "spelling"), SPELLINGS)
def test_values_are_displayed_as_text(value, spelling):
    assert display(value) == spelling


def test_lists_stay_lists():
    assert display(["a"]) == ["a"]


@given(st.floats(-1e12, 1e12))
def test_a_displayed_number_is_within_half_a_thousandth(value):
    assert abs(float(display(value).replace(",", "")) - value) <= 0.0005 + 1e-9 * abs(value)


def test_instants_have_two_spellings():
    moment = datetime(2024, 7, 3, 17, tzinfo=timezone.utc)
    assert (iso_new_york(moment), blank_new_york(moment)) == ("2024-07-03T13:00:00-04:00", "2024-07-03 13:00:00-0400")
    assert blank_new_york(new_york(date(2024, 1, 3), 16)) == "2024-01-03 16:00:00-0500"


def test_absent_properties_are_left_out_and_merged_ones_are_null():
    graph = Graph()
    graph.node("A", "1", x=None)
    graph.merged("B", "1", x=None)
    assert (graph.nodes["A"]["1"], graph.nodes["B"]["1"]) == ({"id": "1"}, {"id": "1", "x": "null"})


def test_making_a_node_twice_is_an_error():
    graph = Graph()
    graph.node("A", "1")
    with pytest.raises(ValueError, match="twice"):
        graph.node("A", "1")


def test_shared_nodes_are_made_only_by_the_first_part():
    existing = set()
    first, second = Graph(existing), Graph(existing)
    for graph in (first, second):
        graph.shared("Unit", "usd")
    assert (first.size, second.size) == ((1, 0), (0, 0))
