"""The two clocks and the calendar arithmetic shared by all datasets.

`available_at` is the instant at which content became public. `observed_at` is the instant at which the lake first saw
it. Both are aware UTC datetimes in microseconds. Business dates are in other columns. This module does not use the
exchange's calendar.
"""

import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pitlake.errors import BadInput, BadInstant
from pitlake.gate.rules import InstantFault
from pitlake.gate.rules import parse_instant as parse_strict

AVAILABLE_AT = "available_at"
OBSERVED_AT = "observed_at"
NEW_YORK = ZoneInfo("America/New_York")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MICROSECOND = timedelta(microseconds=1)
_IN_A_ZONE = re.compile(
    r"(?P<local>\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?) (?P<zone>[A-Za-z]+([/_+-][A-Za-z0-9]+)*)",
    re.ASCII,
)
_FIRST = datetime.min.replace(tzinfo=NEW_YORK).astimezone(timezone.utc)


def instant(text: str | date, field: str = "as_of") -> datetime:
    """Parse strict ISO-8601 or a local time with its zone's name, or check an aware datetime. Return it in UTC.

    The instant must be on a day in New York's calendar, from year 1 to 9999. Raises BadInstant with the fault.
    """
    try:
        if isinstance(text, datetime):
            moment = _utc(text, field)
        elif isinstance(text, str) and (local := _IN_A_ZONE.fullmatch(text)):
            moment = _in_zone(local["local"], local["zone"], field)
        else:
            moment = parse_strict(text.isoformat() if isinstance(text, date) else text)
    except InstantFault as fault:
        raise BadInstant(field, fault.fault, fault.detail) from None
    if moment < _FIRST:
        raise BadInstant(field, "out_of_range", "before the year 1 in New York")
    return moment


def _in_zone(local: str, name: str, field: str) -> datetime:
    """Return a local time of a zone in UTC. Raises BadInstant for one that the zone's clocks skip or show twice."""
    try:
        zone = ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadInstant(
            field, "impossible", f"there is no time zone {name!r}, only such as America/New_York"
        ) from None
    try:
        readings = [datetime.fromisoformat(local).replace(tzinfo=zone, fold=fold) for fold in (0, 1)]
    except ValueError:
        raise BadInstant(field, "impossible", "no such day or time of day") from None
    first, second = (_moved(reading, timezone.utc, field) for reading in readings)
    if first != second:
        raise BadInstant(field, "impossible", f"clocks in {name} were changed at {local}, which needs an offset")
    return first


def past(text: str | date, field: str = "as_of", lake_clock: Callable[[], datetime] | None = None) -> datetime:
    """Return `instant(text)`, or raise BadInput if it is in the future: the rows of a future instant are not known yet.

    lake_clock: the clock of the lake, which may be some seconds ahead of this machine's. Raises
    BadInput, BadInstant.
    """
    moment = instant(text, field)
    if moment > now() and (lake_clock is None or moment > lake_clock()):
        raise BadInput(field, "is in the future", "give a time up to now")
    return moment


def _utc(moment: datetime, field: str = "instant") -> datetime:
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise BadInstant(field, "naive", "the datetime has no time zone")
    if getattr(moment, "nanosecond", 0):
        raise BadInstant(field, "too_precise", "instants in the lake are no finer than microseconds")
    utc = _moved(moment, timezone.utc, field)
    if type(utc) is datetime:
        return utc
    # Subclasses, such as pandas', compare and print differently.
    return datetime(utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, utc.microsecond, timezone.utc)


def _moved(moment: datetime, zone: tzinfo, field: str = "instant") -> datetime:
    try:
        return moment.astimezone(zone)
    except OverflowError:
        raise BadInstant(field, "out_of_range", "outside the years 1 to 9999") from None


def iso(moment: datetime) -> str:
    """Format an instant as pitlake writes it: UTC with `Z`, microseconds only if there are any. Raises BadInstant."""
    return _utc(moment).isoformat().replace("+00:00", "Z")


def micros(moment: datetime) -> int:
    """Return microseconds since the Unix epoch. Raises BadInstant."""
    return (_utc(moment) - EPOCH) // MICROSECOND


def from_micros(count: int) -> datetime:
    """Return the aware UTC datetime at this many microseconds after the Unix epoch. Raises BadInstant."""
    try:
        return EPOCH + timedelta(microseconds=count)
    except OverflowError:
        raise BadInstant("instant", "out_of_range", "outside the years 1 to 9999") from None


def new_york_day(moment: datetime) -> date:
    """Return the New York day of an instant. Raises BadInstant."""
    return _moved(_utc(moment), NEW_YORK).date()


def new_york_month(moment: datetime) -> str:
    """Return the New York month ("YYYY-MM") of an instant, the lake's partition. Raises BadInstant."""
    day = new_york_day(moment)
    return f"{day.year:04d}-{day.month:02d}"


def start_of_new_york_day(day: date) -> datetime:
    """Return 00:00 New York of a day, in UTC."""
    return _moved(datetime.combine(day, time(), NEW_YORK), timezone.utc)


def end_of_new_york_day(day: date) -> datetime:
    """Return 00:00 New York of the next day in UTC, when a date without a time takes effect. Raises BadInstant."""
    if day == date.max:
        raise BadInstant("day", "out_of_range", "outside the years 1 to 9999")
    return start_of_new_york_day(day + timedelta(days=1))


def now() -> datetime:
    """Return the current time in UTC. All code of the kernel reads the clock through this function."""
    return datetime.now(timezone.utc)
