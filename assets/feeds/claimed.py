"""The latest possible meaning of words that claim a date: exact with an offset, otherwise in an unknown time zone.

Lane 3 uses it, because its sources write dates in many ways. Other modules decide what a claim proves.
"""

import re
from datetime import date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

from assets.feeds import dating
from pitlake.errors import Unreadable

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"({'|'.join(_MONTHS)})[a-z]*\.?"
_AMERICAN = re.compile(rf"{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})", re.IGNORECASE | re.ASCII)
_BRITISH = re.compile(rf"(\d{{1,2}})(?:st|nd|rd|th)?\s+{_MONTH},?\s+(\d{{4}})", re.IGNORECASE | re.ASCII)
_SLASHES = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})", re.ASCII)
_NAIVE = re.compile(r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2})?)(?:\.\d+)?", re.ASCII)
_LOOSE = re.compile(
    r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(?::(\d{2}))?(\.\d+)? ?(Z|[+-]\d{2}:?\d{2})", re.ASCII | re.IGNORECASE
)


def latest(text: str, zone: ZoneInfo) -> datetime:
    """Return the latest instant a text can mean. Raises Unreadable.

    A time with an offset is exact, except for a fraction of a second. A time without an offset is the end of the minute
    by the clock of `zone`, in the later reading where clocks change. It is late by up to an hour and a minute, and by
    26 hours more if the zone is unknown. A day alone is its END in New York or in `zone`, whichever is later. It is
    late by up to 25 hours, or by 50 if the zone is unknown. 3/4/2024 is the later of its two readings.
    """
    spelled = " ".join(text.split())
    for exact in (dating.rfc2822, dating.iso):
        try:
            return exact(spelled, dating.EVER)  # The caller decides about dates older than the web.
        except Unreadable:
            continue
    loose, naive = _LOOSE.fullmatch(spelled), _NAIVE.fullmatch(spelled)
    if loose:
        return _loose(loose)
    if naive:
        return _clock(f"{naive[1]}T{naive[2]}", zone)
    return max(_end_of_day(day, zone) for day in _days(spelled))


def _loose(match: re.Match[str]) -> datetime:
    """Parse ISO-8601 with an offset, also in lenient spellings. A fraction of a second is rounded up."""
    day, clock, seconds, fraction, offset = match.groups()
    colon = offset if offset.upper() == "Z" or ":" in offset else f"{offset[:3]}:{offset[3:]}"
    exact = dating.iso(f"{day}T{clock}:{seconds or '00'}{colon.upper()}", dating.EVER)
    return exact + timedelta(seconds=1 if fraction else 0)


def _clock(spelled: str, zone: ZoneInfo) -> datetime:
    try:
        naive = datetime.fromisoformat(spelled)
        readings = [naive.replace(tzinfo=zone, fold=fold).astimezone(timezone.utc) for fold in (0, 1)]
        return max(readings) + timedelta(minutes=1)  # The source may have cut off seconds or a fraction.
    except (ValueError, OverflowError):
        raise Unreadable("no time") from None


def _end_of_day(day: date, zone: ZoneInfo) -> datetime:
    try:
        there = datetime.combine(day + timedelta(days=1), time(), zone).astimezone(timezone.utc)
    except OverflowError:
        raise Unreadable("no date") from None
    return max(there, dating.end_of_day(day))


def _days(spelled: str) -> list[date]:
    """Return every day that a text without a time can mean."""
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
    days = [day for reading in readings if (day := _day(*reading)) is not None]
    if not days:
        raise Unreadable("no date")
    return days


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
