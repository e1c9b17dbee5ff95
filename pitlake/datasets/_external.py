"""Gaps that a feed of any outside source may have, because they are about an answer and not about a record in it.

No dataset lives here. `assets.feeds.runs` makes these gaps; contracts of outside datasets list them.
"""

from pitlake.contract import SEEN_LATER, GapRule

EMPTY = GapRule(
    type="no_data", reason="the answer is valid and empty", when="a unit's answers hold no record, and none was refused"
)
UNPARSABLE = GapRule(
    type="upstream_error",
    reason="the answer is unreadable",
    when="an answer is not what its source promises: no JSON, a field gone, renamed or retyped",
)
EMPTY_PART = GapRule(
    type="unverifiable",
    reason="the answer is empty, which does not prove that there was nothing",
    when="a unit's answers hold no record, and a filter or a limit may have left some out",
)
ANSWERS = (EMPTY, EMPTY_PART, UNPARSABLE, SEEN_LATER)
