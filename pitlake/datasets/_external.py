"""Gaps that every feed of an outside source may have, because they concern a whole answer rather than one record.

No dataset lives here. `assets.feeds.runs` makes these gaps; contracts of outside datasets list them.
"""

from pitlake.contract import SEEN_LATER, GapRule

EMPTY = GapRule(
    type="no_data",
    reason="the answer is valid and empty",
    when="the answers of a unit contain no record, and no record was refused",
)
UNPARSABLE = GapRule(
    type="upstream_error",
    reason="the answer is unreadable",
    when="the answer breaks the source's format: it is not JSON, or a field is missing, renamed or of another type",
)
EMPTY_PART = GapRule(
    type="unverifiable",
    reason="the answer is empty, which does not prove that there was nothing",
    when="the answers of a unit contain no record, but a filter or a limit may have left some out",
)
ANSWERS = (EMPTY, EMPTY_PART, UNPARSABLE, SEEN_LATER)
