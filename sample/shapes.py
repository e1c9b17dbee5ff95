"""Nodes, edges and the graph's spelling of values, for every generator of the sample world.

Most nodes of the graph are written by a merge helper that converts numbers and booleans to display text. Reports, news
and edges are not.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from hashlib import sha256
from random import Random

from pitlake.clock import NEW_YORK, iso

SEED = "pitlake"

Properties = dict[str, object]
EdgeKind = tuple[str, str, str]


def display(value: object) -> object:
    """Return a value in the merge helper's form: `1,234`, three decimals, `1`/`0`, `null`; lists are unchanged."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    if isinstance(value, date):
        return value.isoformat()
    return value


def iso_new_york(moment: datetime) -> str:
    """Format an instant as in reports, news and calls: `2023-01-04T13:48:33-05:00`."""
    return moment.astimezone(NEW_YORK).isoformat(timespec="seconds")


def blank_new_york(moment: datetime) -> str:
    """Format an instant as in dates and bars: `2023-01-04 16:00:00-0500`."""
    return moment.astimezone(NEW_YORK).strftime("%Y-%m-%d %H:%M:%S%z")


def new_york(day: date, hour: int, minute: int = 0, second: int = 0) -> datetime:
    """Return a New York time."""
    return datetime(day.year, day.month, day.day, hour, minute, second, tzinfo=NEW_YORK)


def utc(text: str) -> str:
    """Convert an ISO string with any offset to the manifest's form: UTC with `Z`."""
    return iso(datetime.fromisoformat(text))


def as_json(value: object) -> str:
    """Return a JSON string as the graph stores it: with default separators, and escaped non-ASCII characters."""
    return json.dumps(value)


def rng(*names: object) -> Random:
    """Return a random generator for one purpose, so that changes in one part of the world never change another part."""
    return Random(":".join(map(str, (SEED, *names))))


def digits(length: int, *names: object) -> str:
    """Return stable digits in place of the graph's ids, which can't be reproduced."""
    return str(int(sha256(":".join(map(str, names)).encode()).hexdigest(), 16))[:length]


@dataclass
class Graph:
    """A part of the world: nodes by label and id, edges by (start label, type, end label).

    node_keys: the ids of nodes that several parts share. All parts of a world use the same set.
    """

    node_keys: set[tuple[str, str]] = field(default_factory=set)
    nodes: dict[str, dict[str, Properties]] = field(default_factory=lambda: defaultdict(dict))
    edges: dict[EdgeKind, list[tuple[str, str, Properties]]] = field(default_factory=lambda: defaultdict(list))

    def node(self, label: str, node_id: str, /, **properties: object) -> str:
        """Add a node with unchanged properties, except those that are None, and return its id."""
        if node_id in self.nodes[label]:
            raise ValueError(f"the sample world makes {label} {node_id} twice")
        self.nodes[label][node_id] = {"id": node_id} | {k: v for k, v in properties.items() if v is not None}
        return node_id

    def merged(self, label: str, node_id: str, /, **properties: object) -> str:
        """Add a node as the graph's merge helper would, with all values as display text."""
        return self.node(label, node_id, **{name: display(value) for name, value in properties.items()})

    def shared(self, label: str, node_id: str, /, **properties: object) -> str:
        """Add a node with `merged`, unless an earlier part of this world has added it."""
        if (label, node_id) not in self.node_keys:
            self.node_keys.add((label, node_id))
            self.merged(label, node_id, **properties)
        return node_id

    def edge(self, kind: EdgeKind, start: str, end: str, /, **properties: object) -> None:
        """Add an edge with the properties that are not None."""
        self.edges[kind].append((start, end, {k: v for k, v in properties.items() if v is not None}))

    @property
    def size(self) -> tuple[int, int]:
        """Return the number of nodes and of edges."""
        return sum(map(len, self.nodes.values())), sum(map(len, self.edges.values()))

    def records(self) -> Iterator[str]:
        """Yield one line per node and edge, in the order of writing, as the input of a digest."""
        for label, nodes in self.nodes.items():
            for properties in nodes.values():
                yield f"{label}{properties!r}"
        for kind, edges in self.edges.items():
            for edge in edges:
                yield f"{kind}{edge!r}"
