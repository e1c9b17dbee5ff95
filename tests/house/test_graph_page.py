"""docs/graph.md follows from the extractors' queries. The separately loaded sample world has all that it names."""

from collections import defaultdict

from sample.world import parts
from scripts import graph_page

# An entity has a ticker or an ETF, depending on its label. No report influences a company.
ALTERNATIVES = {("Company", "etf"), ("Industry", "ticker"), ("Sector", "ticker")}
NEVER = {("Report", "INFLUENCES", "Company")}


def test_the_sample_world_has_every_label_relation_and_property_of_the_page() -> None:
    relations: set[tuple[str, str, str]] = set()
    properties: dict[str, set[str]] = defaultdict(set)
    for part in parts():
        for label, nodes in part.graph.nodes.items():
            properties[label].update(name for node in nodes.values() for name in node)
        for kind, edges in part.graph.edges.items():
            relations.add(kind)
            properties[kind[1]].update(name for *_, edge in edges for name in edge)
    read = graph_page.schema()
    assert set(read.labels) <= properties.keys()
    assert read.relations.keys() - relations == NEVER
    assert {(owner, name) for owner, name in read.properties if name not in properties[owner]} == ALTERNATIVES


def test_notes_and_types_are_about_labels_and_properties_that_are_read() -> None:
    read = graph_page.schema()
    assert graph_page.NOTES.keys() <= set(read.labels)
    assert graph_page.TYPES_OF.keys() <= read.properties.keys()
