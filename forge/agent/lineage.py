"""The lineage of a decision: its input rows, its writes, and their consequences.

The lineage is read from memory and the tape, without new fetches.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from forge.agent.tools.text import CONTEXT
from forge.core.tape import Tape
from forge.memory import Memory, Row
from forge.records import Record, kind_of_path
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
    edges = [edge for row in rows if row.call_id in calls for edge in _fetched(row, decision)]
    records = {row.path: row.path.rpartition("/")[2].removesuffix(".md") for row in rows if kind_of_path(row.path)}
    edges += [Edge(decision, name, "wrote") for name in records.values()]
    return edges + list(_followed(_pointers(memory, at or now()), [*records.values()]))


def _fetched(row: Row, decision: str) -> Iterator[Edge]:
    place = CONTEXT + row.path.rpartition("/")[2]
    answer = json.loads(row.content)
    evidence = list(dict.fromkeys(str(data["evidence"]) for data in answer["data"] if data.get("evidence")))
    for name in evidence[:MOST_ROWS]:
        yield Edge(name, place, "row of")
    if len(evidence) > MOST_ROWS:
        yield Edge(f"{len(evidence) - MOST_ROWS} more", place, "rows of")
    yield Edge(place, decision, answer["label"])


def _pointers(memory: Memory, at: datetime) -> list[tuple[str, str, str]]:
    """Return links between records as (from, to, field)."""
    remembered = memory.hydrate(memory.read_instant(at))
    rows = [row for path in remembered.paths() if kind_of_path(path) and (row := remembered.newest(path))]
    records: list[Record] = [remembered.record(row) for row in rows]
    pointers = []
    for record in records:
        for field in _POINTERS:
            targets = getattr(record, field, ())
            pointers += [
                (record.id, name, field) for name in ((targets,) if isinstance(targets, str) else targets) if name
            ]
    return pointers


def _followed(pointers: list[tuple[str, str, str]], waiting: list[str]) -> Iterator[Edge]:
    seen: set[tuple[str, str, str]] = set()
    while waiting:
        name = waiting.pop(0)
        for pointer in pointers:
            if pointer[1] == name and pointer not in seen:
                seen.add(pointer)
                waiting.append(pointer[0])
                yield Edge(name, pointer[0], pointer[2].removesuffix("_id"))


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
