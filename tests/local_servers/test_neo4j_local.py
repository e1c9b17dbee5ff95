"""A local Neo4j starts only if its requirements are met; otherwise the error says what is missing."""

import subprocess

import pytest

from local_servers import neo4j_local
from pitlake.errors import BadInput, GraphUnavailable
from resources.graph.graph import Graph
from tests.graph_servers import rows


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A function that writes scripts such as `java` and `mvn` to a separate PATH."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def write(name: str, script: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)

    return write


def test_without_java_and_maven_the_error_names_them(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert neo4j_local.why_not() == "needs Java 17+ and Maven on PATH"
    with pytest.raises(BadInput, match="PITLAKE_GRAPH: a local Neo4j needs Java"):
        neo4j_local.local_neo4j(tmp_path).__enter__()


@pytest.mark.parametrize(("version", "fit"), [("1.8.0_392", False), ("11.0.2", False), ("17.0.15", True), ("25", True)])
def test_java_17_or_later_is_required(tools, version, fit):
    tools("java", f"""echo 'openjdk version "{version}" 2025-04-15' >&2""")
    tools("mvn", "")
    assert (neo4j_local.why_not() == "") is fit


def test_a_failing_maven_leaves_no_partial_cache(tools, tmp_path, monkeypatch):
    monkeypatch.setenv("PITLAKE_CACHE", str(tmp_path / "cache"))
    tools("mvn", "mkdir -p lib; touch lib/half.jar; echo '[ERROR] no route to the repository'; exit 1")
    with pytest.raises(GraphUnavailable, match="no route to the repository"):
        neo4j_local.server_jars()
    assert [path for path in (tmp_path / "cache").iterdir() if path.is_dir()] == []


def test_maven_runs_only_once(tools, tmp_path, monkeypatch):
    monkeypatch.setenv("PITLAKE_CACHE", str(tmp_path / "cache"))
    tools("mvn", "mkdir lib && touch lib/server.jar")
    jars = neo4j_local.server_jars()
    tools("mvn", "exit 1")
    assert neo4j_local.server_jars() == jars
    assert [path.name for path in jars.iterdir()] == ["server.jar"]


@pytest.mark.parametrize("graph_server", ["neo4j"], indirect=True)
@pytest.mark.long
def test_the_default_neo4j_login_is_replaced(graph_db):
    with pytest.raises(Exception, match="refused the login"):
        Graph(graph_db.uri, ("neo4j", "neo4j"), retry_seconds=0)


@pytest.mark.parametrize("graph_server", ["neo4j"], indirect=True)
@pytest.mark.long
def test_even_the_neo4j_admin_cannot_write_through_graph(graph_db):
    with (
        Graph(graph_db.uri, graph_db.admin_auth, graph_db.database) as graph,
        pytest.raises(Exception, match="AccessMode"),
    ):
        rows(graph, "CREATE (n) RETURN n")


def test_maven_runs_with_the_projects_pom(tools, tmp_path, monkeypatch):
    monkeypatch.setenv("PITLAKE_CACHE", str(tmp_path / "cache"))
    tools("mvn", f"mkdir lib && cp pom.xml {tmp_path}/asked.xml")
    neo4j_local.server_jars()
    assert subprocess.run(["cmp", neo4j_local.POM, tmp_path / "asked.xml"], check=False).returncode == 0
