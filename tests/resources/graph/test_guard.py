"""Nothing writes through a read-only connection: servers refuse writes, and unprotected connections do not open."""

import neo4j
import pytest
from neo4j.exceptions import Forbidden

from pitlake.errors import BadInput, GraphNotReadOnly, GraphRefused, PitlakeError
from resources.graph.graph import Graph
from sample.graph_admin import GraphAdmin
from tests.graph_servers import create_nodes, rows

WRITES = [
    "CREATE (n:Thing {id: 'new'})",
    "CREATE (n:Other) RETURN n",
    "MERGE (n:Thing {id: 'new'}) RETURN n",
    "MATCH (n:Thing) SET n.x = 2 RETURN n.x",
    "MATCH (n:Thing) SET n += {x: 2}",
    "MATCH (n:Thing) REMOVE n.x RETURN n.id",
    "MATCH (n:Thing) DELETE n",
    "MATCH (n:Thing) DETACH DELETE n",
    "MATCH (n:Thing) SET n:Other RETURN n",
    "MATCH (n:Thing) CREATE (n)-[:SELF]->(n)",
    "FOREACH (i IN [1] | CREATE (:Thing {id: 'new'}))",
    "MATCH (n:Thing) CALL (n) { SET n.x = 2 } RETURN n",
    "CREATE INDEX sneaky FOR (n:Thing) ON (n.x)",
    "CREATE CONSTRAINT sneaky FOR (n:Other) REQUIRE n.id IS UNIQUE",
]


@pytest.fixture
def things(graph_admin):
    graph_admin.create_schema({"Thing": "id"})
    create_nodes(graph_admin, "Thing", [{"id": "old", "x": 1}])
    return graph_admin


def everything(admin: GraphAdmin):
    nodes = admin.write("MATCH (n) RETURN labels(n) AS labels, properties(n) AS properties")
    edges = admin.write("MATCH ()-[r]->() RETURN count(r) AS edges")
    return nodes, edges, admin.write("SHOW INDEXES YIELD labelsOrTypes, properties")


@pytest.mark.parametrize("statement", WRITES)
def test_a_statement_that_writes_is_refused_and_changes_nothing(graph, things, statement):
    before = everything(things)
    with pytest.raises(GraphRefused):
        list(graph.stream(statement))
    assert everything(things) == before


def test_a_procedure_that_writes_is_refused_and_changes_nothing(graph, things):
    before = everything(things)
    with pytest.raises(PitlakeError):
        rows(graph, "CALL db.createLabel('Sneaky')")
    assert everything(things) == before


def test_a_read_with_write_keywords_in_a_string_is_allowed(graph, things):
    assert len(rows(graph, "MATCH (n:Thing) WHERE n.id <> 'CREATE (n) SET DELETE' RETURN n.id AS id")) == 1


def test_an_upsert_of_an_existing_node_is_refused_and_changes_nothing(graph, things):
    before = everything(things)
    try:
        rows(graph, "MERGE (n:Thing {id: 'old'}) ON MATCH SET n.x = 9 RETURN n.x AS x")
    except GraphRefused:
        pass
    else:
        pytest.fail("showed the value it had just written")
    assert everything(things) == before


@pytest.mark.parametrize("graph_server", ["embedded"], indirect=True)
def test_the_reader_of_the_embedded_server_cannot_write_even_in_write_mode(graph_db, things):
    with (
        neo4j.GraphDatabase.driver(graph_db.uri, auth=graph_db.reader_auth) as driver,
        driver.session(database=graph_db.database, default_access_mode=neo4j.WRITE_ACCESS) as session,
        pytest.raises(Forbidden),
    ):
        session.run("MATCH (n:Thing) SET n.x = 2").consume()


@pytest.mark.parametrize("graph_server", ["embedded"], indirect=True)
@pytest.mark.parametrize("filled", [True, False])
def test_a_connection_that_would_allow_writes_does_not_open(graph_db, graph_admin, filled):
    if filled:
        graph_admin.create_schema({"Thing": "id"})
        create_nodes(graph_admin, "Thing", [{"id": "old"}])
    with pytest.raises(GraphNotReadOnly, match="did not refuse a write"):
        Graph(graph_db.uri, graph_db.admin_auth, graph_db.database)
    assert graph_admin.write("MATCH (n) RETURN n.id AS id") == ([{"id": "old"}] if filled else [])
    assert graph_admin.write("CALL db.labels() YIELD label RETURN label") == ([{"label": "Thing"}] if filled else [])


def test_a_label_with_a_backtick_does_not_break_the_read_only_check(graph_db, graph_admin):
    graph_admin.create_schema({"odd`label": "id"})
    create_nodes(graph_admin, "odd``label", [{"id": "1"}])
    Graph(graph_db.uri, graph_db.reader_auth, graph_db.database).close()


def test_a_server_not_started_by_pitlake_is_never_loaded(graph_db):
    theirs = type(graph_db)(graph_db.uri, graph_db.database, graph_db.reader_auth)
    with pytest.raises(BadInput, match="is not a server that pitlake started"):
        GraphAdmin(theirs)


def test_a_constraint_on_a_label_with_nodes_is_refused(graph_admin):
    graph_admin.write("CREATE (:Late {id: 1})")
    with pytest.raises(BadInput, match="Late has nodes but no index on id"):
        graph_admin.create_schema({"Late": "id"})


def test_a_schema_can_be_created_twice(things):
    things.create_schema({"Thing": "id"})


def test_a_wipe_removes_nodes_edges_and_schema(things):
    things.wipe()
    nodes, edges, indexes = everything(things)
    assert (nodes, edges) == ([], [{"edges": 0}])
    assert [entry for entry in indexes if entry["labelsOrTypes"]] == []
