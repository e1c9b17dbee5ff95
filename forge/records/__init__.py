"""Records: the contents of memory, one frozen dataclass per kind, and their text form.

`kinds` defines each kind, `values` reads and writes field values, `text` reads and writes whole records.
"""

from forge.records.account import Cash, Fill, Halt
from forge.records.base import Record
from forge.records.drafts import read_draft
from forge.records.judged import Band, Calibration, Cell, Mark, Settlement, Settles
from forge.records.kinds import (
    KINDS,
    Approval,
    Constraints,
    Counterfactual,
    Expression,
    Invalidation,
    Kind,
    Leg,
    Linkage,
    Observation,
    Outcome,
    Portfolio,
    Position,
    ProcessKnowledge,
    Proposal,
    Review,
    Scenario,
    SessionRecord,
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
    "Cash",
    "Cell",
    "Constraints",
    "Counterfactual",
    "Expression",
    "Fill",
    "Halt",
    "Invalidation",
    "Kind",
    "Leg",
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
    "SessionRecord",
    "Settlement",
    "Settles",
    "View",
    "content_hash",
    "kind_of_path",
    "parse",
    "read_draft",
    "render",
]
