"""The lineage of a decision: its input rows, its writes, and their consequences.

The lineage is read from memory and the tape, without new fetches.
"""

import json
from dataclasses import dataclass
from datetime import datetime

from forge.agent.tools.text import CONTEXT
from forge.core.tape import Tape
from forge.memory import Memory
from forge.records import kind_of_path
from pitlake.clock import now

MOST_ROWS = 5
"""The maximum number of rows shown as evidence of one answer; the others are only counted."""
_POINTERS = ("view_id", "view", "expression", "links")


@dataclass(frozen=True)
class Edge:
    """A dependency. relation: the relation of the later item to the earlier one."""

    earlier: str
    later: str
    relation: str


def lineage(memory: Memory, tape: Tape, decision: str, at: datetime | None = None) -> list[Edge]:
    """Return the edges from evidence to outcome, in chronological order. at: the instant (default: now).

    Raises BadInput for a decision that is not on the tape.
    """
    inputs = tape.inputs(decision)
    rows = memory.written_by(inputs["session"], decision)
    # Use only the rows of fetches, because the agent can add files to their folder and overwrite them.
    calls = set(tape.calls(decision, "fetch"))
    edges = []
    for row in (row for row in rows if row.call_id in calls):
        place, answer = CONTEXT + row.path.rpartition("/")[2], json.loads(row.content)
        evidence = list(dict.fromkeys(str(data["evidence"]) for data in answer["data"] if data.get("evidence")))
        edges += [Edge(name, place, "row of") for name in evidence[:MOST_ROWS]]
        if len(evidence) > MOST_ROWS:
            edges.append(Edge(f"{len(evidence) - MOST_ROWS} more", place, "rows of"))
        edges.append(Edge(place, decision, answer["label"]))
    records = {row.path: row.path.rpartition("/")[2].removesuffix(".md") for row in rows if kind_of_path(row.path)}
    edges += [Edge(decision, name, "wrote") for name in records.values()]
    remembered, pointers = memory.hydrate(memory.read_instant(at or now())), list[tuple[str, str, str]]()
    newest = [remembered.newest(path) for path in remembered.paths() if kind_of_path(path)]
    for record in [remembered.record(text) for text in newest if text]:
        for field in _POINTERS:
            targets = getattr(record, field, ())
            names = (targets,) if isinstance(targets, str) else targets
            pointers += [(record.id, name, field) for name in names if name]
    waiting, seen = [*records.values()], set[tuple[str, str, str]]()
    while waiting:
        name = waiting.pop(0)
        for pointer in pointers:
            if pointer[1] == name and pointer not in seen:
                seen.add(pointer)
                waiting.append(pointer[0])
                edges.append(Edge(name, pointer[0], pointer[2].removesuffix("_id")))
    return edges


def as_text(edges: list[Edge]) -> str:
    """Format edges as text, one per line."""
    return "\n".join(f"{edge.earlier} → {edge.later} ({edge.relation})" for edge in edges)


def as_mermaid(edges: list[Edge]) -> str:
    ends = dict.fromkeys(end for edge in edges for end in (edge.earlier, edge.later))
    names = {name: f"n{place}" for place, name in enumerate(ends)}
    nodes = [f"    {key}[{_quoted(name)}]" for name, key in names.items()]
    arrows = [f"    {names[edge.earlier]} -->|{_quoted(edge.relation)}| {names[edge.later]}" for edge in edges]
    return "\n".join(["flowchart LR", *nodes, *arrows])


def _quoted(text: str) -> str:
    return '"' + text.replace("&", "&amp;").replace('"', "&quot;").replace("\n", " ") + '"'
