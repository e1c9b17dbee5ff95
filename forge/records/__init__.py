"""Records: what memory holds, one frozen dataclass a kind, and their one text form.

`kinds` says what a record of each kind is, `values` how its values are written, `text` reads and writes the whole.
"""

from forge.records.base import Record
from forge.records.judged import Band, Calibration, Cell, Mark, Settlement, Settles
from forge.records.kinds import (
    KINDS,
    Approval,
    Constraints,
    Counterfactual,
    Expression,
    Invalidation,
    Kind,
    Linkage,
    Observation,
    Outcome,
    Portfolio,
    Position,
    ProcessKnowledge,
    Proposal,
    Review,
    Scenario,
    Session,
    View,
    kind_of_path,
)
from forge.records.text import HEADER_LINES, content_hash, parse, render

__all__ = [
    "HEADER_LINES",
    "KINDS",
    "Approval",
    "Band",
    "Calibration",
    "Cell",
    "Constraints",
    "Counterfactual",
    "Expression",
    "Invalidation",
    "Kind",
    "Linkage",
    "Mark",
    "Observation",
    "Outcome",
    "Portfolio",
    "Position",
    "ProcessKnowledge",
    "Proposal",
    "Record",
    "Review",
    "Scenario",
    "Session",
    "Settlement",
    "Settles",
    "View",
    "content_hash",
    "kind_of_path",
    "parse",
    "render",
]
