"""Columns and gaps that the datasets of earnings calls share. No dataset lives here."""

from datetime import timedelta

from pitlake.contract import Column
from pitlake.datasets import _answers as answers
from pitlake.datasets import _shared as shared

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
# A call's text is not public while the call is held. Nothing states its end, so it is taken to last two hours at most.
DEFAULT_LAG = timedelta(hours=24)
LEAST_LAG = timedelta(hours=3)
KEY = ("exchange", "ticker", "fiscal_year", "fiscal_quarter")
FILE_MODIFIED = Column(
    name="file_modified",
    type="instant",
    meaning="When the provider last wrote the file, by its header.",
    proof=True,
)
START = Column(name="call_start", type="instant", meaning="When the call starts or started; its availability never.")

RULES = (
    answers.REPEATED,
    answers.OTHER_SHAPE,
    shared.FUTURE,
    *shared.unreadable("exchange", "ticker", "fiscal_year", "fiscal_quarter", "call_start"),
)
PUBLISHED = (
    "The call's start (the latest, where several are given) and 24 hours; another lag can be set, of 12 hours at least "
    "where the list of calls alone states the start. Midnight is not a start: then 5 days after the next 8-K with item "
    "2.02 that the lake knows of the company, else the fetch; beside a start, the end of that day, if it is later. A "
    "publication (the latest, of several) or a Last-Modified that is later counts; a Last-Modified that can't be read "
    "counts as the fetch."
)
FETCHED = "When it was fetched: the list is as of the download and moves without a trace."
