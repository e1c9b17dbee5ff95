"""Values survive the way from a graph to rows and to Arrow, on every kind of server."""

import math
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest

from pitlake.errors import BadInput, GraphValueMismatch
from resources.graph.columns import ANY_VALUE


def only(graph, cypher, **params):
    """The one value of a one-row query."""
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
def test_a_parameter_comes_back_as_it_went(graph, value):
    back = only(graph, "RETURN $value AS value", value=value)
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    "value", [7, 2**62 + 1, 3_000_000_000, 0.247, "1,234", "0.0425", True, ["x", ""], []], ids=repr
)
def test_a_property_is_stored_as_it_was_given(graph, graph_admin, value):
    graph_admin.create_schema({"Thing": "id"})
    graph_admin.load_nodes("Thing", "id", [{"id": "first", "value": 1}, {"id": "second", "value": value}])
    back = only(graph, "MATCH (t:Thing {id: 'second'}) RETURN t.value")
    assert back == value
    assert type(back) is type(value)


def test_an_edge_keeps_doubles_lists_and_integers_of_one_property(graph, graph_admin):
    graph_admin.create_schema({"A": "id"})
    graph_admin.load_nodes("A", "id", [{"id": str(n)} for n in range(4)])
    values = [0.25, [1.5, 2.5], 7]
    rows = [{"start": "3", "end": str(n), "properties": {"w": value}} for n, value in enumerate(values)]
    graph_admin.load_edges("R", ("A", "id"), ("A", "id"), rows)
    back = graph.read("MATCH (:A)-[r:R]->(b:A) RETURN r.w AS w ORDER BY b.id", schema=pa.schema([("w", ANY_VALUE)]))
    assert back["w"].to_pylist() == ["0.25", "[1.5,2.5]", "7"]


def test_nan_survives_and_is_not_null(graph, graph_admin):
    graph_admin.create_schema({"A": "id"})
    graph_admin.load_nodes("A", "id", [{"id": "1", "x": float("nan")}, {"id": "2"}])
    table = graph.read("MATCH (a:A) RETURN a.x AS x ORDER BY a.id", schema=pa.schema([("x", pa.float64())]))
    nan, missing = table["x"].to_pylist()
    assert math.isnan(nan)
    assert missing is None


def test_a_five_megabyte_text_survives(graph, graph_admin):
    text = "päragraph " * 500_000
    graph_admin.create_schema({"Filing": "id"})
    graph_admin.load_nodes("Filing", "id", [{"id": "1", "content": text}])
    assert only(graph, "MATCH (f:Filing) RETURN f.content") == text


def test_an_aware_datetime_is_the_same_instant(graph, graph_admin):
    at = datetime(2024, 2, 15, 16, 0, 0, 123456, tzinfo=timezone(timedelta(hours=-5)))
    graph_admin.create_schema({"Event": "id"})
    graph_admin.load_nodes("Event", "id", [{"id": "1", "at": at}])
    utc = pa.schema([("at", pa.timestamp("us", tz="UTC"))])
    assert graph.read("MATCH (e:Event) RETURN e.at AS at", schema=utc)["at"].to_pylist() == [at]


def test_a_time_finer_than_a_microsecond_is_refused(graph):
    with pytest.raises(GraphValueMismatch, match="finer than microseconds"):
        graph.read("RETURN datetime('2024-02-15T16:00:00.123456789Z') AS at")


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        ("1,234", pa.float64()),
        ("1,234", pa.list_(pa.string())),
        (1.5, pa.int64()),
        (2**62 + 1, pa.float64()),
        (7, pa.string()),
        (7, pa.timestamp("us", tz="UTC")),
        ([1.0], pa.float64()),
        (True, pa.float64()),
        (b"1,234", pa.string()),
    ],
    ids=repr,
)
def test_a_value_that_does_not_fit_its_column_is_refused_without_being_shown(graph, value, declared):
    with pytest.raises(GraphValueMismatch, match="column x: declared") as caught:
        graph.read("UNWIND [null, $value] AS x RETURN x", {"value": value}, schema=pa.schema([("x", declared)]))
    assert "1,234" not in str(caught.value)


def test_an_instant_and_a_wall_clock_time_do_not_share_a_column(graph):
    with pytest.raises(GraphValueMismatch, match="aware DateTime"):
        graph.read("UNWIND [datetime('2024-02-15T16:00:00Z'), localdatetime('2024-02-15T16:00:00')] AS x RETURN x")


def test_mixed_types_want_a_declared_column(graph):
    with pytest.raises(GraphValueMismatch, match="column x"):
        graph.read("UNWIND [1, 'one'] AS x RETURN x")


def test_integers_and_doubles_without_a_schema_become_doubles(graph):
    assert graph.read("UNWIND [1, 2.5, null] AS x RETURN x")["x"].to_pylist() == [1.0, 2.5, None]


def test_schema_and_query_must_name_the_same_columns(graph):
    with pytest.raises(BadInput, match=r"names \['b'\] but the query returns \['a'\]"):
        graph.read("RETURN 1 AS a", schema=pa.schema([("b", pa.int64())]))


def test_columns_come_in_the_order_of_the_schema(graph):
    schema = pa.schema([("b", pa.string()), ("a", pa.int64())])
    assert graph.read("RETURN 1 AS a, 'x' AS b", schema=schema).schema == schema


def test_no_rows_still_have_the_declared_columns(graph):
    schema = pa.schema([("a", pa.int64()), ("b", ANY_VALUE)])
    table = graph.read("UNWIND [] AS x RETURN x AS a, x AS b", schema=schema)
    assert table.schema == pa.schema([("a", pa.int64()), ("b", pa.string())])
