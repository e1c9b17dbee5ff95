"""The world after it was written over Bolt to a server of each kind and then changed by one step."""

import math

import pytest

from local_servers.server import GraphServer
from pitlake.errors import BadInput
from sample.graph_admin import GraphAdmin
from sample.load import LABELS, load_world
from sample.quirks import evolved
from tests.evolve import evolve

pytestmark = [pytest.mark.timeout(1200)]
MOVED, ARRIVED = {change.name for change in evolved().changes}, evolved().arrivals


def test_every_node_is_written_and_the_counts_are_reported(story, admin, nodes, edges):
    assert story.written == {"nodes": sum(map(len, nodes.values())), "edges": sum(map(len, edges.values()))}
    for label, result in nodes.items():
        count = len(result) + len(ARRIVED.nodes.get(label, ()))
        assert admin.write(f"MATCH (n:{label}) RETURN count(n) AS n") == [{"n": count}]


def test_every_relation_is_written(admin, edges):
    counted = admin.write("MATCH ()-[r]->() RETURN type(r) AS kind, count(r) AS n")
    expected = {}
    for (_, kind, _), result in (*edges.items(), *ARRIVED.edges.items()):
        expected[kind] = expected.get(kind, 0) + len(result)
    assert {entry["kind"]: entry["n"] for entry in counted} == expected


def test_progress_is_reported_to_the_end(story):
    done, total, name = story.last_part
    assert (done, name) == (total, "oddities")


def test_ids_are_unique_by_constraint(admin):
    constrained = {entry["labelsOrTypes"][0] for entry in admin.write("SHOW CONSTRAINTS")}
    assert set(LABELS) <= constrained


def test_values_come_back_as_they_were_written(admin, nodes):
    for label in ("Report", "Fact", "Context", "News"):
        node_id, properties = next(item for item in nodes[label].items() if item[0] not in MOVED)
        result = admin.write(f"MATCH (n:{label} {{id: $id}}) RETURN properties(n) AS p", {"id": node_id})
        assert result == [{"p": properties}]


def test_lists_and_nan_survive_on_edges(admin):
    filing = "MATCH (r:Report)-[e:PRIMARY_FILER]->() WHERE r.created STARTS WITH '2024-05-14T10:00'"
    facts = admin.write(f"{filing} RETURN properties(e) AS p")[0]["p"]
    assert facts["hourly_stock"] == [1.25, -0.5]
    assert facts["hourly_industry"] == []
    assert math.isnan(facts["session_stock"])


def test_a_graph_with_data_is_refused(admin):
    with pytest.raises(BadInput, match="holds data already"):
        load_world(admin)


def test_a_scale_below_one_is_refused(admin):
    with pytest.raises(BadInput, match="scale"):
        load_world(admin, 0)


def test_a_server_not_started_by_pitlake_is_refused():
    with pytest.raises(BadInput, match="not a server that pitlake started"):
        GraphAdmin(GraphServer("bolt://127.0.0.1:1"))


def test_evolving_the_world_applies_its_changes_and_repeating_adds_nothing(admin):
    before = admin.write("MATCH (n) RETURN count(n) AS n")
    for change in evolved().changes:
        result = admin.write(f"MATCH (n:{change.label} {{id: $id}}) RETURN properties(n) AS p", {"id": change.name})
        assert result[0]["p"].items() >= change.properties.items()
    evolve(admin)
    assert admin.write("MATCH (n) RETURN count(n) AS n") == before
