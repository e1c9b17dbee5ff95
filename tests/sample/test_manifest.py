"""The manifest covers every quirk, refers only to nodes and edges of the world, and fits the contracts."""

import re
from collections import Counter
from datetime import date, datetime

import pytest

from pitlake import datasets
from pitlake.gate.rules import parse_instant
from sample import manifest
from sample.expectations import ABSENT, GAP, REVISIONS, ROW
from sample.quirks import evolved, plant_all
from sample.shapes import Graph

STATED = [*manifest.EXPECTATIONS, *manifest.EVOLVED]
PYTHON_TYPES = {
    "string": str,
    "int": int,
    "float": float,
    "bool": bool,
    "instant": datetime,
    "date": date,
    "json": (dict, list),
    "strings": list,
    "vector": list,
}
NODE = re.compile(r"neo4j:(\w+):([^/]+)(?:/(\w+)/(\w+):([^/]+).*)?")
DOCUMENT = re.compile(r"neo4j:(Fact):(.+)()()()")


def columns(expectation):
    return {column.name: column for column in datasets.get(expectation.dataset).columns}


def valued(expectation):
    """Yield every (column, value) that the expectation states."""
    yield from expectation.key.items()
    yield from expectation.values.items()
    for revision in expectation.revisions:
        yield from revision.values.items()


def test_every_quirk_is_expected_or_listed_as_not_planted():
    planted = {expectation.quirk for expectation in STATED} - {0}
    assert planted | set(manifest.NOT_PLANTED) == set(manifest.QUIRKS)
    assert planted.isdisjoint(manifest.NOT_PLANTED)


def test_expectation_names_are_unique():
    assert [name for name, times in Counter(each.name for each in STATED).items() if times > 1] == []


@pytest.mark.parametrize("expectation", STATED, ids=lambda each: each.name)
def test_an_expectation_fits_its_contract(expectation):
    existing = columns(expectation)
    for name, value in valued(expectation):
        assert value is None or isinstance(value, PYTHON_TYPES[existing[name].type]), name
        assert value is not None or not existing[name].required, name


@pytest.mark.parametrize("expectation", [each for each in STATED if each.kind == GAP], ids=lambda each: each.name)
def test_an_expected_gap_is_in_its_contract(expectation):
    rules = datasets.get(expectation.dataset).gap_rules
    assert (expectation.gap_type, expectation.reason) in {(rule.type, rule.reason) for rule in rules}


@pytest.mark.parametrize("expectation", STATED, ids=lambda each: each.name)
def test_an_expectation_has_the_fields_its_kind_needs(expectation):
    message = bool(expectation.key), bool(expectation.locator), len(expectation.revisions) > 1
    assert {ROW: message[0], GAP: message[1], ABSENT: message[0] or message[1], REVISIONS: message[0] and message[2]}[
        expectation.kind
    ]
    for item in (expectation, *expectation.revisions):
        assert item.available_at is None or parse_instant(item.available_at)


def source_of(locator):
    """Return the two (label, id) pairs in a locator, and the relation between them."""
    match = (DOCUMENT if locator.startswith("neo4j:Fact:") else NODE).fullmatch(locator)
    if match is None:  # The id of a report, article or fact may contain slashes. Only an edge's locator has a relation.
        raise AssertionError(locator)
    label, node_id, relation, other, other_id = match.groups()
    return (label, node_id), relation, (other, other_id)


@pytest.mark.parametrize(
    "expectation",
    [each for each in manifest.EXPECTATIONS if each.locator and each.kind != ABSENT],
    ids=lambda each: each.name,
)
def test_a_locator_names_a_node_or_edge_of_the_world(expectation, nodes, edges):
    (label, node_id), relation, (other, other_id) = source_of(expectation.locator)
    assert node_id in nodes[label]
    if relation:
        assert any(edge[:2] == (node_id, other_id) for edge in edges[label, relation, other])


def test_planting_the_oddities_again_gives_the_same_expectations():
    assert plant_all(Graph()) == manifest.EXPECTATIONS


def test_every_kind_of_outcome_is_planted():
    assert {each.kind for each in manifest.EXPECTATIONS} == {ROW, GAP, ABSENT, REVISIONS}
    assert len(manifest.EXPECTATIONS) >= 150


@pytest.mark.parametrize("demo", [manifest.DEMO_QUESTION, manifest.DEMO_RESTATEMENT], ids=lambda demo: demo.title)
def test_a_demo_question_has_different_answers_before_and_after(demo):
    assert parse_instant(demo.before) < parse_instant(demo.after)
    assert demo.answer_before != demo.answer_after


def test_evolution_changes_existing_nodes_and_adds_only_new_reports(nodes):
    for change in evolved().changes:
        before = nodes[change.label][change.name]
        assert before | change.properties != before
    assert nodes["Report"].keys().isdisjoint(evolved().arrivals.nodes["Report"])
