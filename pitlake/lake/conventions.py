"""What a lake is agreed to mean for ever: from when its filings count. One small file, written once or not at all.

Rows of two rules side by side would make one answer of two clocks.
"""

from pitlake.errors import BadInput
from pitlake.lake.store import Store

KEY = "_lake/filings_count_from"
RELEASE, ACCEPTANCE = "release", "acceptance"


def filings_count_from(store: Store) -> str:
    """RELEASE, the default, or ACCEPTANCE."""
    return store.read(KEY).decode() if store.exists(KEY) else RELEASE


def count_filings_from(store: Store, rule: str, *, has_filings: bool) -> None:
    """Agree on a rule. Raises BadInput for no rule, and where the lake's filings already count by the other one."""
    if rule not in (RELEASE, ACCEPTANCE):
        raise BadInput("filings_count_from", f"{rule!r} is not a rule", f"give {RELEASE} or {ACCEPTANCE}")
    if not store.exists(KEY) and (rule == RELEASE or not has_filings):
        store.put_new(KEY, rule.encode())
    known = filings_count_from(store)
    if known != rule:
        problem = f"the filings of this lake count from their {known} on"
        raise BadInput("filings_count_from", problem, "leave it so, or build another lake")
