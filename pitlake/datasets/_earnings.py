"""Columns and gaps that the datasets of earnings calls share. No dataset lives here."""

import os
from datetime import timedelta

from pitlake.contract import Column
from pitlake.datasets import _answers as answers
from pitlake.datasets import _shared as shared
from pitlake.errors import BadInput

CALL = (
    Column(name="exchange", type="string", required=True, meaning="Exchange, such as NASDAQ."),
    Column(name="ticker", type="string", required=True, meaning="Ticker of the company."),
    Column(name="fiscal_year", type="int", required=True, meaning="Fiscal year the call is about, the company's own."),
    Column(
        name="fiscal_quarter",
        type="int",
        required=True,
        meaning="Fiscal quarter the call is about, 1 to 4.",
        minimum=1,
        maximum=4,
    ),
)
# The embargo of a call's text: nothing states when it came out or when the call ended, so a lag is added to its start.
# A call is taken to last two hours at most, and its text is never public within the hour after it.
LAG_VARIABLE = "PITLAKE_PUBLICATION_LAG_MINUTES"
DEFAULT_LAG = timedelta(hours=24)
LEAST_LAG = timedelta(hours=3)
KEY = ("exchange", "ticker", "fiscal_year", "fiscal_quarter")
FILE_MODIFIED = Column(
    name="file_modified",
    type="instant",
    meaning="When the provider last wrote the file, by its header.",
    proof=True,
)
START = Column(name="call_start", type="instant", meaning="The start of the call, which is not its availability.")

RULES = (
    answers.REPEATED,
    answers.OTHER_SHAPE,
    shared.FUTURE,
    *shared.unreadable("exchange", "ticker", "fiscal_year", "fiscal_quarter", "call_start"),
)
PUBLISHED = (
    f"The call's start (the latest, where several are given) and {DEFAULT_LAG // timedelta(hours=1)} hours; a shorter "
    "lag can be set, which is 12 hours at least where the list of calls alone states the start. Midnight is not a "
    "start: then 5 days after the next 8-K with item 2.02 that the lake knows of the company, else the fetch; with a "
    "start, the end of that day, if it is later. A publication (the latest, of several) or a Last-Modified that is "
    "later counts; a Last-Modified that can't be read counts as the fetch."
)


def publication_lag(minutes: str | None = None, field: str = LAG_VARIABLE) -> timedelta:
    """Return what is added to a call's start: these minutes, else $PITLAKE_PUBLICATION_LAG_MINUTES, else a day.

    Raises BadInput for less than LEAST_LAG or more than DEFAULT_LAG.
    """
    text = minutes or os.environ.get(LAG_VARIABLE) or ""
    if not text:
        return DEFAULT_LAG
    least, most = (lag // timedelta(minutes=1) for lag in (LEAST_LAG, DEFAULT_LAG))
    if not (text.isascii() and text.isdigit()) or not least <= int(text) <= most:
        raise BadInput(field, "is out of range", f"give {least} to {most} minutes")
    return timedelta(minutes=int(text))


FETCHED = "When it was fetched: the list is as of the download and changes without a trace."
