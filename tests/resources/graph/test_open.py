"""The choice of the graph: a configuration overrides the environment, and errors show the refused setting."""

import traceback
from pathlib import Path

import dagster as dg
import pytest

from assets.factory import graph_asset
from assets.graph import all_extractors
from pipelines.partitions import DAYS
from pitlake.errors import BadInput
from resources.graph.__main__ import main
from resources.graph.open import GraphSettings, graph_server, open_graph
from resources.graph.resource import GraphResource
from resources.lake import LakeResource
from resources.settings import ExtractionSettings
from sample.graph_admin import GraphAdmin
from tests.graph_servers import rows

SECRET = "hunter2-very-secret"


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    for name in (
        "NEO4J_URI",
        "NEO4J_USERNAME",
        "NEO4J_PASSWORD",
        "NEO4J_DATABASE",
        "PITLAKE_GRAPH",
        "PITLAKE_GRAPH_ROOT",
    ):
        monkeypatch.delenv(name, raising=False)


def test_without_an_address_the_embedded_server_is_used():
    assert GraphSettings.from_env({}) == GraphSettings(local="embedded", root=Path(".pitlake/graph"))


def test_an_address_wins_over_a_local_server():
    environ = {
        "NEO4J_URI": "neo4j+s://graph.example",
        "NEO4J_USERNAME": "u",
        "NEO4J_PASSWORD": SECRET,
        "PITLAKE_GRAPH": "neo4j",
    }
    with graph_server(GraphSettings.from_env(environ)) as server:
        assert (server.uri, server.database) == ("neo4j+s://graph.example", "neo4j")
        assert (server.reader_auth, server.admin_auth) == (("u", SECRET), None)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"uri": f"bolt://user:{SECRET}@host"}, "NEO4J_URI: carries credentials"),
        ({"uri": f"http://{SECRET}"}, "NEO4J_URI: is not a graph address"),
        ({"uri": SECRET}, "NEO4J_URI: is not a graph address"),
        ({"uri": "bolt://"}, "NEO4J_URI: is not a graph address"),
        ({"uri": f"bolt://host:{SECRET}"}, "NEO4J_URI: is not a graph address"),
        ({"uri": "bolt://host", "username": "u"}, "NEO4J_USERNAME: is needed together with the password"),
        ({"uri": "bolt://host", "password": SECRET}, "NEO4J_USERNAME: is needed together with the password"),
        ({"local": "memgraph"}, "PITLAKE_GRAPH: 'memgraph' is not a local server; choose from embedded, neo4j"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_settings_are_refused_without_showing_them(settings, says):
    with pytest.raises(BadInput, match=says) as caught:
        GraphSettings(**settings)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_configuration_overrides_the_environment(monkeypatch):
    monkeypatch.setenv("NEO4J_URI", "bolt://environment")
    monkeypatch.setenv("NEO4J_DATABASE", "environments")
    settings = GraphResource(uri="bolt://configured", username="u", password=SECRET).settings()
    assert (settings.uri, settings.database) == ("bolt://configured", "environments")


def test_settings_and_resource_never_show_the_password():
    settings = GraphSettings(uri="bolt://host", username="u", password=SECRET)
    resource = GraphResource(uri="bolt://host", username="u", password=SECRET)
    assert not [text for text in map(repr, (settings, resource)) if SECRET in text]
    assert not [text for text in map(str, (settings, resource)) if SECRET in text]


def test_the_graph_opens_with_its_settings(graph_db):
    user, password = graph_db.reader_auth
    settings = GraphSettings(uri=graph_db.uri, username=user, password=password, database=graph_db.database)
    with open_graph(settings) as graph:
        assert len(rows(graph, "RETURN 1 AS one")) == 1


def test_a_dagster_run_shares_a_connection_and_stops_the_server_afterwards(tmp_path):
    seen = []
    with graph_server(GraphSettings(root=tmp_path)) as server, GraphAdmin(server) as admin:
        admin.write("CREATE (:Date {id: '2024-01-02'})")

    @dg.asset
    def first(graph: GraphResource) -> None:
        for _ in range(2):
            with graph.connect() as door:
                seen.append((door, len(rows(door, "RETURN 1 AS one"))))

    result = dg.materialize([first], resources={"graph": GraphResource(root=str(tmp_path))})
    assert result.success
    (item, reply), (two, _) = seen
    assert (item is two, reply) == (True, 1)
    assert not (tmp_path / "embedded" / "control" / "control.sock").exists()


def test_a_graph_without_nodes_is_refused_and_nothing_is_materialised(tmp_path):
    extractor = all_extractors()["calendar"]
    lake = LakeResource(root=str(tmp_path / "lake"))
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize(
            [graph_asset(extractor, DAYS)],
            instance=instance,
            resources={"graph": GraphResource(root=str(tmp_path)), "lake": lake, "settings": ExtractionSettings()},
            partition_key="2024-01-02",
            raise_on_error=False,
        )
        assert not result.success
        assert not instance.get_materialized_partitions(dg.AssetKey("calendar"))
    (failure,) = [event.step_failure_data for event in result.all_events if event.is_step_failure]
    assert "has no nodes; set it to your graph" in failure.user_failure_data.description


def test_an_empty_or_invalid_graph_is_reported_in_a_single_line_before_a_run(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("NEO4J_URI", raising=False)
    monkeypatch.setenv("PITLAKE_GRAPH_ROOT", str(tmp_path))
    assert main() == BadInput.exit_code
    empty = capsys.readouterr().err
    with graph_server(GraphSettings(root=tmp_path)) as server, GraphAdmin(server) as admin:
        admin.write("CREATE (:Date {id: '2024-01-02'})")
        assert (main(), capsys.readouterr().err) == (0, "")
    monkeypatch.setenv("NEO4J_URI", "graph")
    assert main() == BadInput.exit_code
    assert [message.count("\n") for message in (empty, capsys.readouterr().err)] == [1, 1]
    assert "has no nodes; set it to your graph" in empty


def test_outside_a_run_each_connection_is_separate(graph_db):
    user, password = graph_db.reader_auth
    resource = GraphResource(uri=graph_db.uri, username=user, password=password, database=graph_db.database)
    with resource.connect() as session, resource.connect() as two:
        assert session is not two
