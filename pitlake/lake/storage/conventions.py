"""Settings that are fixed once for a lake: the rule that dates its filings, and the end of its data. Each is
a small file, written once.

If rows in one lake were dated by two rules, an answer would mix two clocks. Data that end, such as those of the sample
world, do not become stale after their end.
"""

from datetime import datetime

from pitlake import clock
from pitlake.errors import BadInput, BadInstant, LakeFault
from pitlake.lake.storage.store import Store

KEY = "_lake/filings_count_from"
ENDS_KEY = "_lake/ends_at"
RELEASE, ACCEPTANCE = "release", "acceptance"


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
        raise BadInput("ends_at", problem, "leave it so, or build another lake")


def filings_count_from(store: Store) -> str:
    """Return RELEASE, the default, or ACCEPTANCE. Raises LakeFault."""
    rule = store.read(KEY).decode(errors="replace") if store.exists(KEY) else RELEASE
    if rule not in (RELEASE, ACCEPTANCE):
        raise LakeFault("damaged", store.path(KEY))
    return rule


def count_filings_from(store: Store, rule: str, *, has_filings: bool) -> None:
    """Set the rule.

    Raises BadInput for an unknown rule, and if the lake's filings are already dated by the other rule.
    """
    if rule not in (RELEASE, ACCEPTANCE):
        raise BadInput("filings_count_from", f"{rule!r} is not a rule", f"give {RELEASE} or {ACCEPTANCE}")
    if not store.exists(KEY) and not has_filings:
        store.put_new(KEY, rule.encode())
    agreed = filings_count_from(store)
    if agreed != rule:
        problem = f"the filings of this lake count from their {agreed} on"
        raise BadInput("filings_count_from", problem, "leave it so, or build another lake")
