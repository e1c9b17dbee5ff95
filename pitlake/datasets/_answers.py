"""Gaps shared by datasets of outside providers, for items that are not records. This module defines no dataset."""

from pitlake.contract import GapRule

OTHER_SHAPE = GapRule(
    "item has an unknown format",
    "an item of the answer no longer has the format that the provider documents",
    type="upstream_error",
)
REPEATED = GapRule(
    "seen again in the same run",
    "another item of the run has the same content and more, so that one is used",
    type="no_data",
)
