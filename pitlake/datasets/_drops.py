"""What datasets of dropped files share: when they are public, and the gap of a file that is not whole.

No dataset lives here. `assets.drops` fills these datasets.
"""

from pitlake.contract import GapRule

RECEIVED = (
    "When the lake received the first file with this content; a date printed in the file proves nothing. A file "
    "dropped again under its name with another content is a correction, available when that was received."
)
UNFINISHED = GapRule(
    type="upstream_error",
    reason="the file's last line is not ended",
    when="a file of lines ends without a line break, so it may have been cut off while it was written",
)
