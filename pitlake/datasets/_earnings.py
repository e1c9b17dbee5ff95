"""Columns and gaps shared by the datasets of earnings calls. This module defines no dataset."""

import os
from datetime import timedelta

from pitlake.contract import Column
from pitlake.datasets import _answers as answers
from pitlake.datasets import _shared as shared
from pitlake.errors import BadInput

CALL = (
    Column("exchange", "string", "Exchange, such as NASDAQ.", required=True),
    Column("ticker", "string", "Ticker of the company.", required=True),
    Column("fiscal_year", "int", "The company's fiscal year that the call is about.", required=True),
    Column("fiscal_quarter", "int", "Fiscal quarter the call is about, 1 to 4.", required=True, minimum=1, maximum=4),
)
# The publication lag of a transcript. No source states when the transcript was published or when the call ended, so a
# lag is added to the start of the call. A call is assumed to last at most two hours. Its transcript is never public
# within an hour after the end.
LAG_VARIABLE = "PITLAKE_PUBLICATION_LAG_MINUTES"
DEFAULT_LAG = timedelta(hours=24)
LEAST_LAG = timedelta(hours=3)
KEY = ("exchange", "ticker", "fiscal_year", "fiscal_quarter")
FILE_MODIFIED = Column(
    "file_modified", "instant", "When the provider last wrote the file, according to its header.", proof=True
)
START = Column("call_start", "instant", "The start of the call, which is not its availability.")

RULES = (
    answers.REPEATED,
    answers.OTHER_SHAPE,
    shared.FUTURE,
    *shared.unreadable("exchange", "ticker", "fiscal_year", "fiscal_quarter", "call_start"),
)
PUBLISHED = (
    f"{DEFAULT_LAG // timedelta(hours=1)} hours after the call's start (the latest, if several are stated). A shorter "
    "lag can be set; it is at least 12 hours if only the list of calls gives the start. Midnight is not accepted as a "
    "start. A call without a start is public 5 days after the company's next 8-K with item 2.02 in the lake, or at the "
    "fetch if there is none. A call with a start is not public before the end of that day. A later publication time "
    "(the latest, if several) or Last-Modified takes precedence. An unreadable Last-Modified is replaced by the time "
    "of the fetch."
)


def publication_lag(minutes: str | None = None, field: str = LAG_VARIABLE) -> timedelta:
    """Return the lag to add to a call's start: the given minutes, else $PITLAKE_PUBLICATION_LAG_MINUTES, else a day.

    Raises BadInput if it is less than LEAST_LAG or more than DEFAULT_LAG.
    """
    text = minutes or os.environ.get(LAG_VARIABLE) or ""
    if not text:
        return DEFAULT_LAG
    least, most = (lag // timedelta(minutes=1) for lag in (LEAST_LAG, DEFAULT_LAG))
    if not (text.isascii() and text.isdigit()) or not least <= int(text) <= most:
        raise BadInput(field, f"{text!r} is out of range", f"give {least} to {most} minutes")
    return timedelta(minutes=int(text))


FETCHED = "When it was fetched, because the list shows its current state and changes without a trace."
