"""The expected outcomes of source records, of which the manifest consists.

Values are as the lake returns them: dates as `date`, instants as aware UTC `datetime`, lists as lists. JSON columns are
stated and compared in parsed form. Instants of availability are strings in UTC with `Z`.
"""

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["row", "gap", "absent", "revisions"]
Values = dict[str, object]

ROW: Kind = "row"
GAP: Kind = "gap"
ABSENT: Kind = "absent"
REVISIONS: Kind = "revisions"


@dataclass(frozen=True)
class Revision:
    """One revision of a key. available_at: None for the instant at which the lake observed it."""

    values: Values
    available_at: str | None


@dataclass(frozen=True)
class Expectation:
    """The outcome of one planted case. quirk: the number in the source's list of quirks, or 0 for a contract's rule.
    row: exactly one row of the lake matches `key`. It has these `values`, became available at `available_at` (None:
    when observed) and cites `locator` as evidence, if given. gap: exactly one gap has this `locator`, type and reason.
    It is visible from `available_at` (None: from the observation), and no row cites the locator. absent: no row matches
    `key`, and no row or gap has the `locator`, if given. revisions: the rows that match `key` are exactly `revisions`,
    in order of availability.
    """

    quirk: int
    title: str
    dataset: str
    kind: Kind
    key: Values = field(default_factory=dict)
    values: Values = field(default_factory=dict)
    available_at: str | None = None
    locator: str = ""
    gap_type: str = ""
    reason: str = ""
    revisions: tuple[Revision, ...] = ()

    @property
    def name(self) -> str:
        """A short unique name, made of number, dataset and title."""
        return f"{self.quirk:02d} {self.dataset}: {self.title}"
