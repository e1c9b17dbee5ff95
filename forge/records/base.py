"""The base of every kind of record, which pydantic validates, and the types of shared fields."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Annotated, Literal, NamedTuple, TypeVar, dataclass_transform

from forge.records.spelling import PERCENT, Bounds, one_line, with_spellings
from pitlake.errors import BadInput
from pitlake.validation import validated_dataclass

Category = Literal["macro_regime", "relative_value", "vol_surface", "event_driven", "flow_driven", "thematic"]
Share = Annotated[float, Bounds(0, 1)]
Positive = Annotated[float, Bounds(0)]
Percent = Annotated[float, Bounds(unit=PERCENT)]
Count = Annotated[int, Bounds(0)]
Exposures = dict[str, Percent]
MOST_BODY = 200_000

Kind = TypeVar("Kind")

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


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def model(cls: type[Kind]) -> type[Kind]:
    """Make a class a frozen dataclass that pydantic validates. Its schema is built at the first use."""
    hints = cls.__annotations__
    cls.__annotations__ = {
        name: hint if name in ("id", "body") else with_spellings(hint) for name, hint in hints.items()
    }
    return validated_dataclass(cls)


@model
class Record:
    """The base of all records. id: assigned by the journal, `new` until then. body: free Markdown."""

    id: str
    body: str = ""

    def __post_init__(self) -> None:
        faults = list(self.contradictions())
        if self.body != self.body.strip("\n") or UNSTORED.search(self.body) or len(self.body) > MOST_BODY:
            problem = f"has control characters, outer blank lines, or over {MOST_BODY:,} characters"
            faults.append(RecordFault(("body",), problem))
        if faults:
            raise InvalidRecord(faults)

    def contradictions(self) -> Iterator[RecordFault]:
        """Yield contradictions between fields that are each valid."""
        yield from ()
