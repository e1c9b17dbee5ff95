"""The labels and relations that a query names, read from its text."""

import re
from collections.abc import Iterator

TO_COMPANIES = ("PRIMARY_FILER", "REFERENCED_IN")
KINDS = {"Company": "company", "Industry": "industry", "Sector": "sector", "MarketIndex": "index"}
"""The labels of entities that have prices, and their kinds."""
ENTITIES = "|".join(KINDS)

Edge = tuple[str, str, str]
"""The label that a relation starts from, its type, and the label that it ends at."""

_NODE = r"\((\w*)(?::(\w+))?\)"
_RELATION = re.compile(rf"{_NODE}(<?)-\[\w*:([\w|]+)\]-(>?)(?={_NODE})")
_LABELLED = re.compile(r"[(\[](\w+):([\w|]+)")
_ANY_LABEL = re.compile(r"labels\((\w+)\)")


def bound(query: str, variable: str, position: int) -> str:
    """Return the labels or relations of a variable at a position, from its last earlier binding, joined by |."""
    if variable in _ANY_LABEL.findall(query):
        return ENTITIES
    labels = {match[1]: match[2] for match in _LABELLED.finditer(query, 0, position)}
    return labels[variable]


def edges(query: str) -> Iterator[Edge]:
    """Yield the relations between nodes in a query, as (from, relation, to)."""
    for match in _RELATION.finditer(query):
        start, start_label, to_left, kinds, _, end, end_label = match.groups()
        if not (end or end_label):
            continue
        first = start_label or bound(query, start, match.end())
        last = end_label or bound(query, end, match.end())
        for kind in kinds.split("|"):
            for near in first.split("|"):
                for far in last.split("|"):
                    # One query reads all relations from an event to an entity, but these two lead only to companies.
                    if kind not in TO_COMPANIES or far == "Company":
                        yield (far, kind, near) if to_left else (near, kind, far)
