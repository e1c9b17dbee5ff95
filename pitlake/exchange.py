"""Sessions of New York's exchange, early closes and DST included, for any day: as they were, and as they were planned.

From exchange_calendars with explicit bounds: by default it ends a year after the day it is asked on.
"""

import warnings
from datetime import date, datetime, timezone
from functools import cache
from typing import NamedTuple

from exchange_calendars.exchange_calendar_xnys import XNYSExchangeCalendar

FIRST_YEAR, LAST_YEAR = 1990, 2199
YEARS_AT_ONCE = 10


class ExchangeSession(NamedTuple):
    """One session's open and close, UTC."""

    open: datetime
    close: datetime


class Planned(XNYSExchangeCalendar):  # type: ignore[misc]
    """The exchange's calendar by its rules: without the closings and early closes of single days, announced later."""

    @property
    def adhoc_holidays(self) -> list[datetime]:
        """None."""
        return []

    @property
    def special_closes_adhoc(self) -> list[datetime]:
        """None."""
        return []


def session(day: date) -> ExchangeSession | None:
    """The session of a New York day; None when there is none, or the day lies before 1990 or after 2199."""
    return _sessions(XNYSExchangeCalendar, _decade(day)).get(day)


def planned(day: date) -> ExchangeSession | None:
    """The session a New York day has by the exchange's rules, whatever became of it."""
    return _sessions(Planned, _decade(day)).get(day)


def session_by(day: date, moment: datetime) -> ExchangeSession | None:
    """The session of a New York day as known at an instant: planned, until it closes early or does not open."""
    held, plan = session(day), planned(day)
    if plan is None or moment >= (plan.open if held is None else held.close):
        return held
    return plan


def _decade(day: date) -> int:
    return day.year // YEARS_AT_ONCE * YEARS_AT_ONCE


@cache
def _sessions(kind: type[XNYSExchangeCalendar], first_year: int) -> dict[date, ExchangeSession]:
    if not FIRST_YEAR <= first_year <= LAST_YEAR:
        return {}
    last_year = first_year + YEARS_AT_ONCE - 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the library has yet to follow pandas 3.1
        calendar = kind(start=f"{first_year}-01-01", end=f"{last_year}-12-31")
    rows = zip(calendar.sessions, calendar.opens, calendar.closes, strict=True)
    return {stamp.date(): ExchangeSession(_plain(opens), _plain(closes)) for stamp, opens, closes in rows}


def _plain(stamp: datetime) -> datetime:
    return datetime.fromtimestamp(stamp.timestamp(), timezone.utc)
