"""Why a decision came out as it did: from the rows it was given, over what it wrote, to what became of that.

Read from memory and tape alone; nothing is asked again.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from forge.agent.tools.fetch import CONTEXT
from forge.core.tape import Tape
from forge.memory import Memory, Row
from forge.records import Record, kind_of_path
from pitlake.clock import now

MOST_ROWS = 5
"""So many pieces of evidence of one answer are named; of the rest, how many there are."""
_POINTERS = ("view_id", "view", "expression", "links")


@dataclass(frozen=True)
class Edge:
    """One thing that rests on another. relation: what the later is to the earlier."""

    earlier: str
    later: str
    relation: str


def lineage(memory: Memory, tape: Tape, decision: str, at: datetime | None = None) -> list[Edge]:
    """From evidence to outcome, in the order of time. at: as of when (default: now).

    Raises BadInput for a decision that is not on the tape.
    """
    begun = tape.begun(decision)
    written = memory.written_by(begun["session"], decision)
    calls = set(tape.calls(decision, "fetch"))  # the agent can write beside and over what they wrote
    edges = [edge for row in written if row.call_id in calls for edge in _fetched(row, decision)]
    records = {row.path: row.path.rpartition("/")[2].removesuffix(".md") for row in written if kind_of_path(row.path)}
    edges += [Edge(decision, name, "wrote") for name in records.values()]
    return edges + list(_followed(_pointers(memory, at or now()), [*records.values()]))


def _fetched(row: Row, decision: str) -> Iterator[Edge]:
    place = CONTEXT + row.path.rpartition("/")[2]
    answer = json.loads(row.content)
    evidence = list(dict.fromkeys(str(one["evidence"]) for one in answer["data"] if one.get("evidence")))
    for one in evidence[:MOST_ROWS]:
        yield Edge(one, place, "row of")
    if len(evidence) > MOST_ROWS:
        yield Edge(f"{len(evidence) - MOST_ROWS} more", place, "rows of")
    yield Edge(place, decision, answer["label"])


def _pointers(memory: Memory, at: datetime) -> list[tuple[str, str, str]]:
    """Which record points at which, and by what field: (from, to, field)."""
    known = memory.hydrate(memory.standing(at))
    rows = [row for path in known.paths() if kind_of_path(path) and (row := known.newest(path))]
    records: list[Record] = [known.record(row) for row in rows]
    found = []
    for record in records:
        for field in _POINTERS:
            told = getattr(record, field, ())
            found += [(record.id, name, field) for name in ((told,) if isinstance(told, str) else told) if name]
    return found


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
    """A line an edge."""
    return "\n".join(f"{edge.earlier} → {edge.later} ({edge.relation})" for edge in edges)


def as_mermaid(edges: list[Edge]) -> str:
    """A Mermaid flowchart."""
    ends = dict.fromkeys(end for edge in edges for end in (edge.earlier, edge.later))
    names = {name: f"n{place}" for place, name in enumerate(ends)}
    nodes = [f"    {key}[{_quoted(name)}]" for name, key in names.items()]
    arrows = [f"    {names[edge.earlier]} -->|{_quoted(edge.relation)}| {names[edge.later]}" for edge in edges]
    return "\n".join(["flowchart LR", *nodes, *arrows])


def _quoted(text: str) -> str:
    return '"' + text.replace("&", "&amp;").replace('"', "&quot;").replace("\n", " ") + '"'
