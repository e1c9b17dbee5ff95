"""Values survive the round trip through a graph, on every kind of server."""

import math
from datetime import datetime, timedelta, timezone

import pytest

from tests.graph_servers import create_edge, create_nodes, rows


def only(graph, cypher, **params):
    """Return the value of a query with one row and one column."""
    (records,) = graph.stream(cypher, params)
    return records[0][0]


@pytest.mark.parametrize(
    "value",
    [
        0,
        2**62 + 1,
        -(2**63),
        0.1,
        -0.0,
        1e308,
        float("inf"),
        True,
        "",
        "null",
        "O’Reilly & Söhne 😀 \u0000 \ud7ff",
        ["a", "b"],
        [1, None, "x"],
        {"a": {"b": [1.5]}},
        None,
        b"\x00\xff",
    ],
    ids=repr,
)
def test_a_parameter_round_trips_unchanged(graph, value):
    back = only(graph, "RETURN $value AS value", value=value)
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    "value", [7, 2**62 + 1, 3_000_000_000, 0.247, "1,234", "0.0425", True, ["x", ""], []], ids=repr
)
def test_a_property_round_trips_unchanged(graph, graph_admin, value):
    graph_admin.create_schema({"Thing": "id"})
    create_nodes(graph_admin, "Thing", [{"id": "first", "value": 1}, {"id": "second", "value": value}])
    back = only(graph, "MATCH (t:Thing {id: 'second'}) RETURN t.value")
    assert back == value
    assert type(back) is type(value)


def test_an_edge_keeps_doubles_lists_and_integers_of_one_property(graph, graph_admin):
    graph_admin.create_schema({"A": "id"})
    create_nodes(graph_admin, "A", [{"id": str(n)} for n in range(4)])
    values = [0.25, [1.5, 2.5], 7]
    for number, value in enumerate(values):
        create_edge(graph_admin, "R", "3", str(number), {"w": value})
    back = [value for (value,) in rows(graph, "MATCH (:A)-[r:R]->(b:A) RETURN r.w AS w ORDER BY b.id")]
    assert back == values
    assert [type(value) for value in back] == [float, list, int]


def test_nan_survives_and_is_not_null(graph, graph_admin):
    graph_admin.create_schema({"A": "id"})
    create_nodes(graph_admin, "A", [{"id": "1", "x": float("nan")}, {"id": "2"}])
    (nan,), (missing,) = rows(graph, "MATCH (a:A) RETURN a.x AS x ORDER BY a.id")
    assert math.isnan(nan)
    assert missing is None


def test_a_five_megabyte_text_survives(graph, graph_admin):
    text = "päragraph " * 500_000
    graph_admin.create_schema({"Filing": "id"})
    create_nodes(graph_admin, "Filing", [{"id": "1", "content": text}])
    assert only(graph, "MATCH (f:Filing) RETURN f.content") == text


def test_an_aware_datetime_round_trips_to_the_same_instant(graph, graph_admin):
    at = datetime(2024, 2, 15, 16, 0, 0, 123456, tzinfo=timezone(timedelta(hours=-5)))
    graph_admin.create_schema({"Event": "id"})
    create_nodes(graph_admin, "Event", [{"id": "1", "at": at}])
    assert only(graph, "MATCH (e:Event) RETURN e.at AS at").to_native() == at
