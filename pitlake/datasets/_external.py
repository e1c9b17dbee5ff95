"""Gaps that any feed of an outside source may have, because they concern a whole response rather than one record.

`assets.feeds.runs` makes these gaps, and contracts of outside datasets list them. This module defines no dataset.
"""

from pitlake.contract import SEEN_LATER, GapRule

EMPTY = GapRule(
    "the answer is valid and empty",
    "the answers for a unit contain no record, and no record was refused",
    type="no_data",
)
UNPARSABLE = GapRule(
    "the answer is unreadable",
    "the answer breaks the source's format: it is not JSON, or a field is missing, renamed or of a different type",
    type="upstream_error",
)
EMPTY_PART = GapRule(
    "the answer is empty, which does not prove that there was nothing",
    "the answers for a unit contain no record, but a filter or a limit may have left some out",
)
ANSWERS = (EMPTY, EMPTY_PART, UNPARSABLE, SEEN_LATER)
