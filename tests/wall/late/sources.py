"""The sources of a history, which are the graph and the outside providers: their kinds of documents, and the names of
things in rows.
"""

from assets.order import in_order
from tests.wall.late import graph, outside

KINDS = (*(label.kind for label in graph.LABELS.values()), *outside.KINDS)
NAMES = {**graph.NAMES, **outside.NAMES}
SHOWN_BY = {**graph.SHOWN_BY, **outside.SHOWN_BY}
# The graph may keep several nodes of a call or split. The start names a call and the day names a split, so that a new
# start or day makes another node.
SHOWN_TWICE = {*graph.LABELS["call"].names, *graph.LABELS["split"].names}
DATASETS = tuple(in_order((*graph.EXTRACTORS, *outside.FEEDS)))


def told_in(kind: str) -> tuple[str, ...]:
    """Return the datasets that contain documents of a kind."""
    if kind in graph.LABELS:
        return tuple(graph.LABELS[kind].names)
    return tuple(reply.dataset for reply in outside.FEEDS.values() if reply.kind.name == kind)
