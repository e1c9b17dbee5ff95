"""What datasets of outside providers share: the gaps of items that are not records. No dataset lives here."""

from pitlake.contract import GapRule

OTHER_SHAPE = GapRule(
    type="upstream_error",
    reason="item has another shape",
    when="an item of the answer is no longer what the provider's description says",
)
REPEATED = GapRule(
    type="no_data",
    reason="seen again in the same run",
    when="another item of the run has the same content and more; that one is used",
)
