"""Gaps that datasets of outside providers share, for items that are not records. This module defines no dataset."""

from pitlake.contract import GapRule

OTHER_SHAPE = GapRule(
    type="upstream_error",
    reason="item has an unknown format",
    when="an item of the answer no longer has the format that the provider documents",
)
REPEATED = GapRule(
    type="no_data",
    reason="seen again in the same run",
    when="another item of the run has the same content and more, so that one is used",
)
