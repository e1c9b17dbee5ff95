"""The base of every kind of record, and the types of shared fields."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from forge.records.values import MOST_BODY, PERCENT, Bounds, check, one_line, specs
from pitlake.errors import BadInput

Category = Literal["macro_regime", "relative_value", "vol_surface", "event_driven", "flow_driven", "thematic"]
Share = Annotated[float, Bounds(0, 1)]
Positive = Annotated[float, Bounds(0)]
Percent = Annotated[float, Bounds(unit=PERCENT)]
Count = Annotated[int, Bounds(0)]
Exposures = dict[str, Percent]

UNSTORED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class RecordFault(NamedTuple):
    """A fault of a record. fields: the faulty field first, then the other fields that the fault depends on."""

    fields: tuple[str, ...]
    problem: str
    next_step: str = ""


class InvalidRecord(ValueError):
    """A record breaks rules of its kind. faults: all of them."""

    def __init__(self, faults: Sequence[RecordFault]) -> None:
        self.faults = faults
        super().__init__("; ".join(f"{fault.fields[0]}: {fault.problem}" for fault in faults))


def read_reason(text: str, field: str = "reason") -> str:
    """Return a reason on one line. Raises BadInput if it is empty or can't be stored."""
    reason = " ".join(text.split())
    if not reason:
        raise BadInput(field, "is empty", "say why")
    try:
        one_line(reason)
    except ValueError as fault:
        raise BadInput(field, str(fault), "say why in one line of text") from None
    return reason


@dataclass(frozen=True, kw_only=True)
class Record:
    """The base of all records. id: assigned by the journal, `new` until then; body: free Markdown."""

    id: str
    body: str = ""

    def __post_init__(self) -> None:
        if faults := list(self._field_faults()) or list(self.contradictions()):
            raise InvalidRecord(faults)

    def contradictions(self) -> Iterator[RecordFault]:
        """Yield faults between fields that are each valid."""
        yield from ()

    def _field_faults(self) -> Iterator[RecordFault]:
        for name, spec in specs(type(self)).items():
            try:
                check(spec, getattr(self, name))
            except ValueError as problem:
                yield RecordFault((name,), str(problem))
        if self.body != self.body.strip("\n") or UNSTORED.search(self.body) or len(self.body) > MOST_BODY:
            yield RecordFault(("body",), f"has control characters, outer blank lines, or over {MOST_BODY:,} characters")
