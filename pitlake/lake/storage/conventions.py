"""Settings of a lake that are fixed once: the rules that date its filings and bars, and the end of its data. Each is a
small file, written once.

If rows in one lake were dated by two rules, an answer would mix two clocks. Data with an end, such as the sample world,
do not become stale after it.
"""

from dataclasses import dataclass
from datetime import datetime

from pitlake import clock
from pitlake.errors import BadInput, BadInstant, LakeFault
from pitlake.lake.storage.store import Store

ENDS_KEY = "_lake/ends_at"
RELEASE, ACCEPTANCE = "release", "acceptance"
CLOSE, AFTER_CLOSE, NEXT_DAY = "close", "close + 15 minutes", "next day"


@dataclass(frozen=True)
class Convention:
    """A rule that dates one kind of rows. rules: the possible rules, the default first. variable: the environment
    variable with the rule of new lakes.
    """

    name: str
    rows: str
    rules: tuple[str, ...]
    variable: str

    @property
    def key(self) -> str:
        """Return the key of the file with the lake's rule."""
        return f"_lake/{self.name}"


FILINGS_VARIABLE, BARS_VARIABLE = "PITLAKE_FILINGS_COUNT_FROM", "PITLAKE_BARS_COUNT_FROM"
FILINGS = Convention("filings_count_from", "filings", (RELEASE, ACCEPTANCE), FILINGS_VARIABLE)
BARS = Convention("bars_count_from", "bars", (CLOSE, AFTER_CLOSE, NEXT_DAY), BARS_VARIABLE)


def ends_at(store: Store) -> datetime | None:
    """Return the end of the lake's data; None for a lake of real data. Raises LakeFault."""
    if not store.exists(ENDS_KEY):
        return None
    try:
        return clock.instant(store.read(ENDS_KEY).decode(), "ends_at")
    except (UnicodeDecodeError, BadInstant) as error:
        raise LakeFault("damaged", store.path(ENDS_KEY)) from error


def end_at(store: Store, moment: datetime) -> None:
    """Set, once, the end of the lake's data. Raises BadInput if a different end was set before."""
    if not store.exists(ENDS_KEY):
        store.put_new(ENDS_KEY, clock.iso(moment).encode())
    agreed = ends_at(store)
    if agreed != moment:
        problem = f"the world of this lake ends at {clock.iso(agreed) if agreed else 'no instant'}"
        raise BadInput("ends_at", problem, "keep it, or build another lake")


def rule_of(store: Store, convention: Convention) -> str:
    """Return the lake's rule. Raises LakeFault."""
    key = convention.key
    rule = store.read(key).decode(errors="replace") if store.exists(key) else convention.rules[0]
    if rule not in convention.rules:
        raise LakeFault("damaged", store.path(key))
    return rule


def agree(store: Store, convention: Convention, rule: str, *, has_rows: bool) -> None:
    """Set the lake's rule. Raises BadInput for an unknown rule, or if the lake's rows are dated by a different one."""
    if rule not in convention.rules:
        *others, last = convention.rules
        raise BadInput(convention.name, f"{rule!r} is not a rule", f"give {', '.join(others)} or {last}")
    if not store.exists(convention.key) and not has_rows:
        store.put_new(convention.key, rule.encode())
    agreed = rule_of(store, convention)
    if agreed != rule:
        problem = f"in this lake, {convention.rows} become available at: {agreed}"
        raise BadInput(convention.name, problem, "keep it, or build another lake")
