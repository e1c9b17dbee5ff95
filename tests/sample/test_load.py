"""Writing the world over Bolt, into a server of each kind."""

import math

import pytest

from local_servers.server import GraphServer
from pitlake.errors import BadInput
from sample import evolve
from sample.graph_admin import GraphAdmin
from sample.load import LABELS, load_world

pytestmark = pytest.mark.slow


def test_everything_is_written(loaded, nodes, edges):
    admin, written, _ = loaded
    assert (written.nodes, written.edges) == (sum(map(len, nodes.values())), sum(map(len, edges.values())))
    for label, found in nodes.items():
        assert admin.write(f"MATCH (n:{label}) RETURN count(n) AS n") == [{"n": len(found)}]


def test_every_relation_is_written(loaded, edges):
    counted = loaded[0].write("MATCH ()-[r]->() RETURN type(r) AS kind, count(r) AS n")
    wanted = {}
    for (_, kind, _), found in edges.items():
        wanted[kind] = wanted.get(kind, 0) + len(found)
    assert {entry["kind"]: entry["n"] for entry in counted} == wanted


def test_progress_is_told_to_the_end(loaded):
    done, total, name = loaded[2][-1]
    assert (done, name) == (total, "oddities")


def test_ids_are_unique_by_constraint(loaded):
    constrained = {entry["labelsOrTypes"][0] for entry in loaded[0].write("SHOW CONSTRAINTS")}
    assert set(LABELS) <= constrained


def test_values_come_back_as_they_were_written(loaded, nodes):
    for label in ("Report", "Fact", "Context", "News"):
        node_id, properties = next(iter(nodes[label].items()))
        found = loaded[0].write(f"MATCH (n:{label} {{id: $id}}) RETURN properties(n) AS p", {"id": node_id})
        assert found == [{"p": properties}]


def test_lists_and_nan_survive_on_edges(loaded):
    filing = "MATCH (r:Report)-[e:PRIMARY_FILER]->() WHERE r.created STARTS WITH '2024-05-14T10:00'"
    facts = loaded[0].write(f"{filing} RETURN properties(e) AS p")[0]["p"]
    assert facts["hourly_stock"] == [1.25, -0.5]
    assert facts["hourly_industry"] == []
    assert math.isnan(facts["session_stock"])


def test_a_graph_with_data_is_refused(loaded):
    with pytest.raises(BadInput, match="holds data already"):
        load_world(loaded[0])


def test_a_scale_below_one_is_refused(loaded):
    with pytest.raises(BadInput, match="scale"):
        load_world(loaded[0], 0)


def test_a_server_that_is_not_ours_is_refused():
    with pytest.raises(BadInput, match="not ours"):
        GraphAdmin(GraphServer("bolt://127.0.0.1:1"))


def test_evolving_changes_what_it_says_and_again_nothing(loaded):
    admin = loaded[0]
    before = admin.write("MATCH (n) RETURN count(n) AS n")[0]["n"]
    for _ in range(2):
        evolve.evolve(admin)
        assert admin.write("MATCH (n) RETURN count(n) AS n") == [{"n": before + 1}]
    for change in evolve.changes():
        found = admin.write(f"MATCH (n:{change.label} {{id: $id}}) RETURN properties(n) AS p", {"id": change.node_id})
        assert found[0]["p"].items() >= change.properties.items()


def test_an_unknown_step_is_refused(loaded):
    with pytest.raises(BadInput, match="no step 2"):
        evolve.evolve(loaded[0], 2)
