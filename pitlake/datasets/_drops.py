"""The availability and gaps shared by all datasets of dropped files. `assets.drops` fills these datasets."""

from pitlake.contract import GapRule

RECEIVED = (
    "When the lake received the first file with this content; a date printed in the file proves nothing. A file "
    "dropped again under the same name with different content is a correction, available when it was received."
)
UNFINISHED = GapRule(
    "the file's last line has no line break",
    "the file ends without a line break, so it may have been cut off while it was written",
    type="upstream_error",
)
CONTRADICTED = GapRule(
    "stated differently on another line",
    "an earlier line of the file has different values under the same key, and the first one is used",
)
