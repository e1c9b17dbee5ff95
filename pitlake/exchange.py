"""Sessions of New York's exchange on any day, with early closes and DST, both as they took place and as planned.

They come from exchange_calendars with explicit bounds, because its default calendar ends a year after today.
"""

import warnings
from collections.abc import Sequence
from datetime import date, datetime, timezone
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # The import takes a quarter of a second, and many questions need no session.
    from exchange_calendars.exchange_calendar_xnys import XNYSExchangeCalendar

FIRST_YEAR, LAST_YEAR = 1990, 2199
YEARS_AT_ONCE = 10


class ExchangeSession(NamedTuple):
    """The open and close of one session, in UTC."""

    open: datetime
    close: datetime


def session(day: date) -> ExchangeSession | None:
    """Return the session of a New York day; None if there is none, or if the year is before 1990 or after 2199."""
    return _sessions(_decade(day), planned=False).get(day)


def planned(day: date) -> ExchangeSession | None:
    """Return the session that the exchange's rules plan for a New York day, whether or not it took place."""
    return _sessions(_decade(day), planned=True).get(day)


def session_by(day: date, moment: datetime) -> ExchangeSession | None:
    """Return the session of a New York day as known at an instant: as planned, until it closes early or stays shut."""
    actual, plan = session(day), planned(day)
    if plan is None or moment >= (plan.open if actual is None else actual.close):
        return actual
    return plan


def last_session_day(days: Sequence[date]) -> date | None:
    """Return the last of these days with a session; None if there is none."""
    return max((day for day in days if session(day)), default=None)


def sessions_over(days: Sequence[date]) -> datetime | None:
    """Return the instant at which it was known that all sessions of these days had ended; None if none was planned.

    This is the last close, or the planned opening of a later session that was cancelled.
    """
    closes = [exchange_session.close for day in days if (exchange_session := session(day))]
    called_off = [plan.open for day in days if not session(day) and (plan := planned(day))]
    return max(closes + called_off, default=None)


def _decade(day: date) -> int:
    return day.year // YEARS_AT_ONCE * YEARS_AT_ONCE


@cache
def _kind(*, planned: bool) -> type["XNYSExchangeCalendar"]:
    """Return the exchange's calendar. planned: follow only its rules, without special closings and early closes."""
    from exchange_calendars.exchange_calendar_xnys import XNYSExchangeCalendar

    if not planned:
        return XNYSExchangeCalendar  # type: ignore[no-any-return]
    none = property(lambda _: [])
    return type("Planned", (XNYSExchangeCalendar,), {"adhoc_holidays": none, "special_closes_adhoc": none})


@cache
def _sessions(first_year: int, *, planned: bool) -> dict[date, ExchangeSession]:
    if not FIRST_YEAR <= first_year <= LAST_YEAR:
        return {}
    last_year = first_year + YEARS_AT_ONCE - 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # The library does not support pandas 3.1 yet.
        calendar = _kind(planned=planned)(start=f"{first_year}-01-01", end=f"{last_year}-12-31")
    rows = zip(calendar.sessions, calendar.opens, calendar.closes, strict=True)
    return {stamp.date(): ExchangeSession(_plain(opens), _plain(closes)) for stamp, opens, closes in rows}


def _plain(stamp: datetime) -> datetime:
    return datetime.fromtimestamp(stamp.timestamp(), timezone.utc)
