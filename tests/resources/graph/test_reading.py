"""The extractors' Cypher gives the same results on every kind of server, streams large results, and names faults."""

import psutil
import pytest

from pitlake.errors import GraphLoginFailed, GraphQueryFailed, GraphUnavailable
from resources.graph.graph import Graph
from tests.graph_servers import create_edge, create_nodes, rows

NEWS = [
    {"id": "bzNews_1", "created": "2024-02-15T16:00:00-05:00", "title": "One"},
    {"id": "bzNews_2", "created": "", "title": None},
    {"id": "bzNews_3", "created": "2024-02-16T09:30:00-05:00", "title": "Three"},
]


@pytest.fixture
def news(graph_admin, graph):
    graph_admin.create_schema({"News": "id", "Company": "cik"}, indexes=[("News", "created")])
    create_nodes(graph_admin, "News", NEWS)
    create_nodes(
        graph_admin, "Company", [{"id": "1", "cik": "0000000001", "ticker": "AA"}, {"id": "2", "cik": "0000000002"}]
    )
    for start, end, properties in (
        ("bzNews_1", "1", {"daily_stock": 5.06}),
        ("bzNews_1", "2", {"daily_stock": float("nan")}),
        ("bzNews_3", "1", {}),
    ):
        create_edge(graph_admin, "INFLUENCES", start, end, properties)
    return graph


def test_a_missing_property_is_null(news):
    assert rows(news, "MATCH (n:News {id: 'bzNews_2'}) RETURN n.title, n.nonsense, n.created") == [(None, None, "")]


def test_an_optional_match_keeps_the_row(news):
    result_rows = rows(news, "MATCH (n:News) OPTIONAL MATCH (n)-[:INFLUENCES]->(c) RETURN n.id, count(c) ORDER BY n.id")
    assert result_rows == [("bzNews_1", 2), ("bzNews_2", 0), ("bzNews_3", 1)]


def test_collect_gathers_maps_and_skips_nulls(news):
    cypher = """
        MATCH (n:News) OPTIONAL MATCH (n)-[r:INFLUENCES]->(c:Company)
        WITH n, c, r ORDER BY n.id, c.cik
        RETURN n.id, collect(c.ticker) AS tickers, collect(CASE WHEN c IS NULL THEN null ELSE {cik: c.cik} END) AS all
        ORDER BY n.id
    """
    first, second, _ = rows(news, cypher)
    assert first == ("bzNews_1", ["AA"], [{"cik": "0000000001"}, {"cik": "0000000002"}])
    assert second == ("bzNews_2", [], [])


def test_exists_neither_drops_nor_duplicates_rows(news):
    cypher = "MATCH (n:News) RETURN n.id, EXISTS { (n)-[:INFLUENCES]->(:Company) } AS e ORDER BY n.id"
    assert rows(news, cypher) == [("bzNews_1", True), ("bzNews_2", False), ("bzNews_3", True)]
    assert rows(news, "MATCH (n:News) WHERE NOT EXISTS { (n)-[:INFLUENCES]->() } RETURN n.id") == [("bzNews_2",)]


def test_a_pattern_comprehension_lists_the_neighbours(news):
    cypher = "MATCH (n:News {id: $id}) RETURN [(n)-[:INFLUENCES]->(c:Company) | c.cik] AS ciks"
    assert sorted(rows(news, cypher, id="bzNews_1")[0][0]) == ["0000000001", "0000000002"]


def test_a_whole_node_or_relation_can_be_returned_as_a_map(news):
    cypher = "MATCH (n:News {id: 'bzNews_1'})-[r]->(c {cik: '0000000001'}) RETURN properties(n), properties(r), type(r)"
    assert rows(news, cypher) == [(NEWS[0], {"daily_stock": 5.06}, "INFLUENCES")]


def test_text_windows_compare_code_points(news):
    cypher = "MATCH (n:News) WHERE n.created >= $lo AND n.created < $hi RETURN n.id ORDER BY n.id"
    assert rows(news, cypher, lo="2024-02-15", hi="2024-02-16") == [("bzNews_1",)]


def test_a_regular_expression_finds_undated_texts_that_windows_miss(news):
    cypher = "MATCH (n:News) WHERE n.created IS NULL OR NOT n.created =~ $dated RETURN n.id"
    assert rows(news, cypher, dated=r"\d{4}-\d{2}-\d{2}.*") == [("bzNews_2",)]


def test_order_by_puts_nulls_last_and_texts_by_code_point(graph):
    ordered = rows(graph, "UNWIND ['b', null, 'Z', 'é', 'a', ''] AS x RETURN x ORDER BY x")
    assert ordered == [("",), ("Z",), ("a",), ("b",), ("é",), (None,)]


def test_a_large_answer_streams_in_flat_memory(graph):
    process, kilobytes = psutil.Process(), "x" * 2000
    before, peak, rows_seen = process.memory_info().rss, 0, 0
    cypher = "UNWIND range(1, 100000) AS i RETURN i, $text + toString(i) AS text"
    for records in graph.stream(cypher, {"text": kilobytes}):
        rows_seen += len(records)
        peak = max(peak, process.memory_info().rss)
    assert rows_seen == 100_000
    assert peak - before < 100 * 2**20  # the result has 200 MB


def test_a_stream_closed_early_leaves_the_connection_usable(graph):
    stream = graph.stream("UNWIND range(1, 100000) AS i RETURN i")
    next(stream)
    stream.close()
    assert rows(graph, "RETURN 1 AS one") == [(1,)]


def test_two_streams_of_the_same_connection_do_not_mix(graph):
    ones, twos = (graph.stream("UNWIND range(1, 2000) AS i RETURN $n AS n", {"n": n}) for n in (1, 2))
    seen = {record["n"] for pair in zip(ones, twos, strict=True) for record in pair[0]}
    assert seen == {1}


def test_a_syntax_error_names_the_servers_code(graph):
    with pytest.raises(GraphQueryFailed) as caught:
        rows(graph, "MATCH (n) RETRUN n")
    assert caught.value.code == "Neo.ClientError.Statement.SyntaxError"


def test_a_missing_parameter_has_its_own_error_code(graph):
    with pytest.raises(GraphQueryFailed) as caught:
        rows(graph, "RETURN $nobody AS x")
    assert caught.value.code == "Neo.ClientError.Statement.ParameterMissing"


def test_a_failure_in_mid_stream_is_an_error_and_not_an_end(graph):
    stream = graph.stream("UNWIND range(1000, 0, -1) AS i RETURN 1 / i AS x", fetch_size=100)
    with pytest.raises(GraphQueryFailed):
        list(stream)


def test_an_unknown_database_fails(graph_db):
    with pytest.raises((GraphQueryFailed, GraphUnavailable), match=r"nobody|DatabaseNotFound"):
        Graph(graph_db.uri, graph_db.reader_auth, "nobody", retry_seconds=0)


def test_a_wrong_password_is_a_failed_login(graph_db):
    with pytest.raises(GraphLoginFailed, match="NEO4J_PASSWORD"):
        Graph(graph_db.uri, ("somebody", "hunter2-secret"), graph_db.database, retry_seconds=0)
