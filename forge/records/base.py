"""The base of every kind of record, and the types of shared fields."""

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from forge.records.values import MOST_BODY, Bounds, check, specs

Category = Literal["macro_regime", "relative_value", "vol_surface", "event_driven", "flow_driven", "thematic"]
Share = Annotated[float, Bounds(0, 1)]
Positive = Annotated[float, Bounds(0)]
Count = Annotated[int, Bounds(0)]
Exposures = dict[str, float]

UNSTORED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True)
class Record:
    """The base of all records. id: assigned by the journal, `new` until then; body: free Markdown."""

    id: str
    body: str = ""

    def __post_init__(self) -> None:
        for name, spec in specs(type(self)).items():
            try:
                check(spec, getattr(self, name))
            except ValueError as problem:
                raise ValueError(f"{name}: {problem}") from None
        if self.body != self.body.strip("\n") or UNSTORED.search(self.body) or len(self.body) > MOST_BODY:
            raise ValueError(f"body: has control characters, outer blank lines, or over {MOST_BODY:,} characters")
