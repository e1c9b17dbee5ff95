"""Counts the labels and relations of an extractor's queries in a graph, before a run reads it.

Parts that no query reaches are neither rows nor gaps: relations that are reversed or connect other labels, and nodes
without the relation that leads to them. The check `unread` reports their numbers. The stage compares the other counts
with the last published run's, so that a renamed label is noticed even if a run's days were never polled before.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from assets.extraction import Extractor, GraphReader
from assets.patterns import KINDS, Edge, edges
from pitlake.lake.publishing.audit import CheckResult, Severity

MOST_SEARCHED = 100_000
"""The maximum number of a label's nodes that are searched for the relations that lead to them."""
REFUSED_FROM, LEAST_UNREAD = 0.5, 10
"""A run is refused if at least this share and this number of the relations of a type can't be read."""
NAVIGATION: frozenset[Edge] = frozenset({("Context", "HAS_PERIOD", "Period")})
"""Relations without data for any dataset, whose type is also used by other relations."""
TAXONOMY = {"Concept", "Context", "Member", "Period", "Unit"}
"""Labels whose nodes only describe facts."""
MATCHED = re.compile(r"MATCH \(\w*:(\w+)\)")


@dataclass(frozen=True)
class Survey:
    """The numbers of nodes and relations by name, and the numbers of those that no query reads."""

    counts: Mapping[str, int]
    unread: Mapping[str, int]

    def check(self) -> CheckResult:
        """Return the check `unread`."""
        refused = any(
            count >= max(LEAST_UNREAD, REFUSED_FROM * self.counts.get(name, 0)) for name, count in self.unread.items()
        )
        facts: dict[str, int | str] = {
            name: f"{count:,} of {self.counts[name]:,} can't be reached" for name, count in self.unread.items()
        }
        severity: Severity = "blocking" if refused or not self.unread else "warning"
        return CheckResult(name="unread", passed=not self.unread, severity=severity, facts=facts)


def survey(extractor: Extractor, graph: GraphReader) -> Survey:
    """Count the labels and relations that an extractor's queries name. The graph's own counts answer each query, except
    those over labels of at most MOST_SEARCHED nodes. Raises GraphError.
    """
    own, read_edges = _edges(extractor.queries), _edges((*extractor.queries, *extractor.others)) | NAVIGATION
    matched = _matched(extractor.queries)
    counts, unread = dict[str, int](), dict[str, int]()
    for label in sorted(matched | {label for start, _, end in own for label in (start, end)}):
        counts[f"{label} nodes"] = _count(graph, f"MATCH (n:{label}) RETURN count(n) AS count")
    for kind in sorted({kind for _, kind, _ in own}):
        name, of_kind = f"{kind} relations", [edge for edge in read_edges if edge[1] == kind]
        counts[name] = _count(graph, f"MATCH ()-[r:{kind}]->() RETURN count(r) AS count")
        starts, ends = ({edge[side] for edge in of_kind} for side in (0, 2))
        with_start = sum(_count(graph, f"MATCH (:{label})-[r:{kind}]->() RETURN count(r) AS count") for label in starts)
        with_end = sum(_count(graph, f"MATCH ()-[r:{kind}]->(:{label}) RETURN count(r) AS count") for label in ends)
        unread[name] = counts[name] - min(with_start, with_end)
    # Of labels that only relations reach, the nodes without such a relation are unread.
    leading: dict[str, set[str]] = defaultdict(set)
    for start, kind, end in own:
        leading[start].add(f"(n)-[:{kind}]->(:{end})")
        leading[end].add(f"(n)<-[:{kind}]-(:{start})")
    matched = _matched((*extractor.queries, *extractor.others))
    for label in sorted(leading.keys() - matched - KINDS.keys() - TAXONOMY):
        without = " AND ".join(f"NOT EXISTS {{ {pattern} }}" for pattern in sorted(leading[label]))
        if 0 < counts[f"{label} nodes"] <= MOST_SEARCHED:
            unread[f"{label} nodes"] = _count(graph, f"MATCH (n:{label}) WHERE {without} RETURN count(n) AS count")
    return Survey(counts, {name: count for name, count in unread.items() if count > 0})


@cache
def _matched(queries: tuple[str, ...]) -> frozenset[str]:
    """Return the labels whose nodes the queries match directly."""
    return frozenset(label for query in queries for label in MATCHED.findall(query))


@cache
def _edges(queries: tuple[str, ...]) -> frozenset[Edge]:
    return frozenset(edge for query in queries for edge in edges(query))


def _count(graph: GraphReader, query: str) -> int:
    """Return the count that a query returns; 0 if it returns none."""
    return next((record["count"] for batch in graph.stream(query, {}, fetch_size=1) for record in batch), 0)
