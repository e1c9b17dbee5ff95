"""Real graph servers for tests. Each test with one of these fixtures runs on every kind of server.

`graph_server` is a server for the whole session, and `graph_db` an empty database on it for one test. `graph_admin`
loads the database and `graph` reads it. The embedded kind runs everywhere. The Neo4j kind belongs to `make long`. It
must run if PITLAKE_NEO4J=1. Otherwise it runs if it can, and is skipped with the reason if not.
"""

import contextlib
import itertools
import os
from collections.abc import Iterator
from typing import Any

import pytest

from local_servers.embedded import embedded_graph
from local_servers.neo4j_local import local_neo4j, server_jars, why_not
from local_servers.server import GraphServer
from pitlake.errors import GraphUnavailable
from resources.graph.graph import Graph
from sample.graph_admin import GraphAdmin

# Test processes take whole groups (`--dist loadgroup`), so that each server and each world on it is created only once.
KINDS = [
    pytest.param("embedded", marks=pytest.mark.xdist_group("embedded graph")),
    pytest.param("neo4j", marks=[pytest.mark.long, pytest.mark.xdist_group("neo4j graph")]),
]

_databases = itertools.count(1)
_owned: set[str] = set()


@pytest.fixture(scope="session", params=KINDS)
def graph_server(request, tmp_path_factory) -> Iterator[GraphServer]:
    if request.param == "neo4j":
        _require_neo4j()
    start = {"embedded": embedded_graph, "neo4j": local_neo4j}[request.param]
    with start(tmp_path_factory.mktemp(request.param)) as server:
        yield server


@pytest.fixture
def graph_db(graph_server) -> Iterator[GraphServer]:
    with own_database(graph_server) as server:
        yield server


@contextlib.contextmanager
def own_database(server: GraphServer) -> Iterator[GraphServer]:
    """Yield an empty database, for a fixture of any scope. Neo4j Community has only one, so two owners are refused."""
    if server.kind == "neo4j":
        assert server.uri not in _owned, "a fixture of a wider scope owns Neo4j's only database"
        _owned.add(server.uri)
        with GraphAdmin(server) as admin:
            admin.wipe()
        yield server
        _owned.discard(server.uri)
        return
    mine = server.with_database(f"test{next(_databases)}")
    with GraphAdmin(mine) as admin:
        admin.create_database()
        yield mine
        admin.drop_database()


@pytest.fixture
def graph_admin(graph_db) -> Iterator[GraphAdmin]:
    with GraphAdmin(graph_db) as admin:
        yield admin


@pytest.fixture
def graph(graph_db) -> Iterator[Graph]:
    with Graph(graph_db.uri, graph_db.reader_auth, graph_db.database) as door:
        yield door


def rows(graph: Graph, cypher: str, **params: Any) -> list[tuple[Any, ...]]:
    """Return all rows of a query."""
    return [tuple(record.values()) for records in graph.stream(cypher, params) for record in records]


def _require_neo4j() -> None:
    how = "needs Java 17+, Maven and, the first time, Maven Central; PITLAKE_NEO4J=1 makes it a must"
    wish = os.environ.get("PITLAKE_NEO4J", "")
    must = wish == "1" or os.environ.get("CI", "").lower() in {"1", "true"}
    reason = "PITLAKE_NEO4J=0" if wish == "0" else why_not()
    if not reason:
        try:
            server_jars()
        except GraphUnavailable as error:
            reason = str(error)
    if not reason:
        return
    if must and wish != "0":
        pytest.fail(f"real Neo4j must be tested here but cannot be: {reason}", pytrace=False)
    pytest.skip(f"NOT tested on real Neo4j: {reason}. {how}.")


def create_nodes(admin: GraphAdmin, label: str, nodes: list[dict[str, Any]]) -> None:
    """Create a node for each mapping of properties."""
    admin.write(f"UNWIND $nodes AS properties CREATE (n:`{label}`) SET n = properties", {"nodes": nodes})


def create_edge(admin: GraphAdmin, kind: str, start: str, end: str, properties: dict[str, Any] | None = None) -> None:
    """Create an edge between the nodes that have these ids."""
    cypher = f"MATCH (a {{id: $start}}) MATCH (b {{id: $end}}) CREATE (a)-[r:{kind}]->(b) SET r = $properties"
    admin.write(cypher, {"start": start, "end": end, "properties": properties or {}})
