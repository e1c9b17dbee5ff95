"""Writes the world over Bolt into a graph we own: constraints first, then part by part, nodes before edges.

A graph that is not empty is refused, so that sample and real data never mix.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from pitlake.errors import BadInput
from sample.graph_admin import GraphAdmin
from sample.shapes import Graph
from sample.world import Part, part_count, parts

LABELS = (
    "Abstract", "AdminReport", "Company", "Concept", "Context", "Date", "Dimension", "Dividend", "Domain",
    "ExhibitContent", "ExtractedSectionContent", "Fact", "FilingTextContent", "FinancialStatementContent",
    "FullTranscriptText", "Industry", "MarketIndex", "Member", "News", "Period", "PreparedRemark", "QAExchange",
    "QuestionAnswer", "Report", "Sector", "Split", "Transcript", "Unit", "XBRLNode",
)  # fmt: skip

_ELEMENTS_AT_ONCE = 40_000
_ROWS_AT_ONCE = 5_000

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Loaded:
    """The written amounts."""

    nodes: int
    edges: int


def load_world(admin: GraphAdmin, scale: int = 1, progress: Progress | None = None) -> Loaded:
    """Write the world at a scale into an empty graph.

    Args:
        admin: the writer.
        scale: 1, 10 or 100; any whole number from 1 works.
        progress: called with the number of finished parts, the number of all parts, and the last part's name.

    Raises:
        BadInput: the graph has nodes, or the scale is below 1.
    """
    if scale < 1:
        raise BadInput("scale", "is below 1", "choose 1, 10 or 100")
    if admin.write("MATCH (n) RETURN 1 AS one LIMIT 1"):
        raise BadInput("graph", "holds data already", "wipe it, or name an empty PITLAKE_GRAPH_ROOT")
    admin.create_schema(dict.fromkeys(LABELS, "id"))
    total, done, nodes, edges = part_count(scale), 0, 0, 0
    for batch in _batched(parts(scale)):
        graphs = [part.graph for part in batch]
        write_graphs(admin, graphs)
        done += len(batch)
        nodes += sum(graph.size[0] for graph in graphs)
        edges += sum(graph.size[1] for graph in graphs)
        if progress:
            progress(done, total, batch[-1].name)
    return Loaded(nodes, edges)


def write_graphs(admin: GraphAdmin, graphs: Sequence[Graph]) -> None:
    """Create the nodes of all parts and then their edges, without look-ups, because no node exists yet."""
    for label in sorted({label for graph in graphs for label in graph.nodes}):
        nodes = chain.from_iterable(graph.nodes.get(label, {}).values() for graph in graphs)
        _write(admin, f"UNWIND $rows AS row CREATE (n:{label}) SET n = row", nodes)
    for kind in sorted({kind for graph in graphs for kind in graph.edges}):
        start, relation, end = kind
        edges = (
            {"start": source, "end": target, "properties": properties}
            for graph in graphs
            for source, target, properties in graph.edges.get(kind, ())
        )
        sides = f"MATCH (a:{start} {{id: row.start}}) MATCH (b:{end} {{id: row.end}})"
        _write(admin, f"UNWIND $rows AS row {sides} CREATE (a)-[r:{relation}]->(b) SET r = row.properties", edges)


def _write(admin: GraphAdmin, statement: str, rows: Iterable[Mapping[str, object]]) -> None:
    remaining = iter(rows)
    while batch := list(islice(remaining, _ROWS_AT_ONCE)):
        admin.write(statement, {"rows": batch})


def _batched(world: Iterator[Part]) -> Iterator[list[Part]]:
    """Yield the parts in order, in lists that are large enough to need few transactions."""
    batch: list[Part] = []
    size = 0
    for part in world:
        batch.append(part)
        size += sum(part.graph.size)
        if size >= _ELEMENTS_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
