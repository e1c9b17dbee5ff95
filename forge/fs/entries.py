"""Entries of listings, and the description of a record in a listing."""

from typing import NamedTuple

from forge.records import (
    Approval,
    Calibration,
    Counterfactual,
    Expression,
    Linkage,
    Observation,
    Outcome,
    ProcessKnowledge,
    Proposal,
    Record,
    View,
)


class DirEntry(NamedTuple):
    """An entry. name: the name of a file, or of a folder, which ends in a slash. meta: the text next to it."""

    name: str
    meta: str


_FORMATS: dict[type[Record], str] = {
    View: "{0.scope} | conf:{0.confidence} | {0.status}",
    Expression: "view:{0.view_id} | {0.status}",
    Observation: "{0.scope} | {0.status}",
    Linkage: "{0.source} {0.relation} {0.target} | {0.status}",
    ProcessKnowledge: "w:{0.weight} | {0.category}",
    Outcome: "{0.expression} | {0.status}",
    Counterfactual: "{0.decision_type} | {0.status}",
    Calibration: "n:{0.forecasts} | {0.status}",
    Proposal: "{0.skill} | {0.status}",
    Approval: "{0.subject} | {0.decision}",
}


def format_meta(record: Record) -> str:
    """Return the description of a record for a listing."""
    return _FORMATS.get(type(record), "").format(record)
