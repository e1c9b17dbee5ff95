"""The latest possible instant of a claimed date: exact with an offset, otherwise in an unknown time zone.

It is used for web pages, because they write dates in many ways. Other modules decide what a claim proves.
"""

import re
from contextlib import suppress
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from assets.feeds import dating
from pitlake.clock import NEW_YORK
from pitlake.errors import Unreadable
from pitlake.times import ISO, RFC_2822, Unset, end_of_day, later, stated

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"({'|'.join(_MONTHS)})[a-z]*\.?"
_AMERICAN = re.compile(rf"{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})", re.IGNORECASE | re.ASCII)
_BRITISH = re.compile(rf"(\d{{1,2}})(?:st|nd|rd|th)?\s+{_MONTH},?\s+(\d{{4}})", re.IGNORECASE | re.ASCII)
_SLASHES = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})", re.ASCII)
_SECOND, _MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def latest(text: str, zone: ZoneInfo) -> datetime:
    """Return the latest instant that a text can mean. Raises Unreadable.

    A time with an offset is exact, except that fractions of a second are rounded up. A time without an offset is the
    end of its minute in `zone`, in the later reading if clocks change. It is late by up to an hour and a minute, plus
    26 hours if the zone is unknown. A day alone is its end in New York or in `zone`, whichever is later. It is late by
    up to 25 hours, or by 50 if the zone is unknown. 3/4/2024 is the later of its two readings. The caller decides about
    dates older than the web.
    """
    spelled = " ".join(text.split())
    try:
        moment = _clock(spelled)
        if moment is None:
            return max(end_of_day(day, ends_in) for day in _days(spelled) for ends_in in (zone, NEW_YORK))
        if moment.tzinfo is None:
            return later(moment, zone) + _MINUTE  # The source may have cut off seconds or a fraction.
        return dating.EVER + -((dating.EVER - moment) // _SECOND) * _SECOND
    except OverflowError:
        raise Unreadable("outside of the calendar") from None


def _clock(spelled: str) -> datetime | None:
    """Parse a time, naive without an offset; None for anything else. Unset times are earlier than all others."""
    for form in (RFC_2822, ISO):
        try:
            moment = stated(spelled, form, needs_seconds=False)
        except Unset:
            return dating.EVER
        except Unreadable:
            continue
        if form == ISO or moment.tzinfo is not None:
            return moment
    return None


def _days(spelled: str) -> list[date]:
    """Return every possible day of a text without a time."""
    american, british = _AMERICAN.fullmatch(spelled), _BRITISH.fullmatch(spelled)
    slashed = _SLASHES.fullmatch(spelled)
    if american:
        readings = [(int(american[3]), _MONTHS.index(american[1].lower()) + 1, int(american[2]))]
    elif british:
        readings = [(int(british[3]), _MONTHS.index(british[2].lower()) + 1, int(british[1]))]
    elif slashed:
        first, second, year = (int(part) for part in slashed.groups())
        readings = [(year, first, second), (year, second, first)]
    else:
        return [dating.day(spelled)]
    days = []
    for year, month, day in readings:
        with suppress(ValueError):
            days.append(date(year, month, day))
    if not days:
        raise Unreadable("no date")
    return days
