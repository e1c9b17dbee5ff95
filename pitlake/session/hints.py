"""Friendly words: what to do about a refused query. A courtesy to the caller, never the wall.

Reads the text of a query only to find spellings of "now" that reach past the session's clock.
"""

import re
from collections.abc import Collection

from pitlake.session.protocol import Failure

_QUOTED_OR_COMMENT = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_REAL_CLOCK = re.compile(
    r'\bsystem"?\s*\.\s*(?:"?main"?\s*\.\s*)?"?'
    r"(now|today|age|uuidv7|(?:get_)?current_\w+|transaction_timestamp|local\w*time\w*)\b",
    re.IGNORECASE,
)
_MISSING_COLUMN = re.compile(
    r'[Cc]olumn (?:named )?"(\w+)" (?:not found|was not found)|does not have a column named "(\w+)"'
)
_MISSING_MACRO = re.compile(r"Table Function with name \w+_of does not exist")
_MISSING_TABLE = re.compile(r"Table with name (\w+) does not exist")

LEFT_OUT = (
    "it is known with hindsight alone, which this session leaves out: join by CIK, take names from `names`, or run a "
    "named query"
)


def reads_real_clock(sql: str) -> str:
    """The spelling by which a query asks for the machine's clock, empty if it doesn't."""
    found = _REAL_CLOCK.search(_QUOTED_OR_COMMENT.sub(" ", sql))
    return found.group(0) if found else ""


def hint(
    failure: Failure,
    bound: Collection[str],
    known: Collection[str],
    open_only: Collection[str],
    left_out: Collection[str] = (),
) -> str:
    """The next step after a failure; empty when DuckDB's own words say it all. left_out: columns that are hindsight."""
    if failure.kind == "PermissionException":
        return "a session reads its own views and nothing else: SELECT * FROM lake_info lists what it has"
    column = _MISSING_COLUMN.search(failure.message)
    absent = "" if column is None else next(filter(None, column.groups()), "").lower()
    if absent in left_out or (left_out and _MISSING_MACRO.search(failure.message)):
        return LEFT_OUT
    missing = _MISSING_TABLE.search(failure.message)
    name = missing.group(1).removesuffix("_revisions") if missing else ""
    if name in open_only and name not in bound:
        return f"{name} tells outcomes; it is shown in open mode only (open_mode=True, --open)"
    if name in known and name not in bound:
        return f"this session was opened without {name}; open one with it in datasets"
    return ""


NEXT_STEP = {
    "rows": "aggregate or filter, ask for a part with max_rows, or open the session with Limits(rows=...)",
    "bytes": "select fewer columns or rows, ask for a part with max_bytes, or open the session with Limits(bytes=...)",
    "seconds": "filter on a key or an interval of time, or open the session with Limits(seconds=...)",
    "memory": "aggregate earlier or select less, or open the session with Limits(memory=...)",
}
"""What to do about each limit."""
