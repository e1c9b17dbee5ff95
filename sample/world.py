"""The whole world, part by part: shared nodes first, then one part per company, then the oddities. Every part fits into
memory at any scale, and refers only to its own nodes and to earlier parts' nodes. The same scale gives the same world
on every machine.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from sample.actions import add_actions
from sample.calendar import add_calendar
from sample.companies import Company, add_classification, add_company, add_relations, companies
from sample.filings import add_filing, add_form_tree
from sample.news import add_news
from sample.prices import add_benchmark_prices, add_company_prices
from sample.quirks import plant_all
from sample.schedule import filings
from sample.shapes import Graph
from sample.stated_facts import add_facts
from sample.transcripts import add_calls
from sample.xbrl import add_units


@dataclass(frozen=True)
class Part:
    """A part of the world. Its nodes are written first."""

    name: str
    graph: Graph


def parts(scale: int = 1) -> Iterator[Part]:
    """Yield the world at a scale. Scale 1 has the named companies, scale 10 has nine more for each of them."""
    node_keys: set[tuple[str, str]] = set()
    graph = Graph(node_keys)
    add_classification(graph)
    add_calendar(graph)
    add_benchmark_prices(graph)
    add_form_tree(graph)
    add_units(graph)
    yield Part("calendar, classification and benchmarks", graph)
    for company in companies(scale):
        yield Part(company.ticker, _company(Graph(node_keys), company))
    last = Graph(node_keys)
    add_relations(last)
    plant_all(last)
    yield Part("oddities", last)


def part_count(scale: int = 1) -> int:
    return 2 + sum(1 for _ in companies(scale))


def digest(scale: int = 1) -> str:
    """Return the SHA-256 over all nodes and edges in the order of writing."""
    total = sha256()
    for part in parts(scale):
        for record in part.graph.records():
            total.update(record.encode())
    return total.hexdigest()


def _company(graph: Graph, company: Company) -> Graph:
    add_company(graph, company)
    add_company_prices(graph, company)
    add_actions(graph, company)
    for filing in filings(company):
        add_filing(graph, filing)
        if filing.has_facts:
            add_facts(graph, filing)
    add_calls(graph, company)
    add_news(graph, company)
    return graph
