"""Sessions of New York's exchange, early closes and DST included, for any day the calendar can know.

From exchange_calendars with explicit bounds: by default it ends a year after the day it is asked on. Called by the
modules of assets/external that date by a close or name a session.
"""

import warnings
from datetime import date, datetime, timezone
from functools import cache
from typing import NamedTuple

import exchange_calendars

FIRST_YEAR, LAST_YEAR = 1990, 2199
YEARS_AT_ONCE = 10


class Session(NamedTuple):
    """One session's open and close, UTC."""

    open: datetime
    close: datetime


def session(day: date) -> Session | None:
    """The session of a New York day; None when there is none, or the day lies before 1990 or after 2199."""
    known = FIRST_YEAR <= day.year <= LAST_YEAR
    return _sessions(day.year // YEARS_AT_ONCE * YEARS_AT_ONCE).get(day) if known else None


@cache
def _sessions(first_year: int) -> dict[date, Session]:
    last_year = first_year + YEARS_AT_ONCE - 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the library has yet to follow pandas 3.1
        calendar = exchange_calendars.get_calendar("XNYS", start=f"{first_year}-01-01", end=f"{last_year}-12-31")
    rows = zip(calendar.sessions, calendar.opens, calendar.closes, strict=True)
    return {stamp.date(): Session(_plain(opens), _plain(closes)) for stamp, opens, closes in rows}


def _plain(stamp: datetime) -> datetime:
    return datetime.fromtimestamp(stamp.timestamp(), timezone.utc)
