"""Reads the times that sources and users write, for every interface of pitlake. Nothing is guessed.

A time may have several readings, and the latest is used:

- A day means its end, in the given zone or otherwise in New York.
- A midnight may be a day. It is one in the given zone, in its own zone or offset, or in UTC, and its day ends in that
  zone or in the given one, whichever is later. Whether a midnight *is* a day is decided by the column that holds it
  (`are_days`); a value that stands alone is one if it is written as 00:00 (`Reading.latest`).
- A clock time that occurs twice, or that clocks skip, means the later of its instants.
- Fractions of a microsecond are rounded up.
- Values that programs write for a missing time are not times (`Unset`): the zeros of the calendars of Unix, Excel,
  Windows, SQL and pandas, and the years 0, 1 and 9999.

`read` reads one value in Python; `pitlake.times.sql` writes SQL with the same meaning that reads a column in DuckDB.
`stated` and `stated_instant` read clocks that a contract calls instants. Their midnights are instants too, and the
caller judges which years are plausible.

`as_of`, `known_by` and `--pit` are not read here: `pitlake.clock.instant` parses them strictly.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from email.utils import parsedate_to_datetime
from functools import cache
from numbers import Number
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from pitlake.clock import EPOCH, MICROSECOND, NEW_YORK
from pitlake.errors import BadInput, PitlakeError, Unreadable

ISO, RFC_2822 = "iso", "rfc2822"
EPOCH_UNITS = {"epoch": 10**9, "epoch_ms": 10**6, "epoch_us": 10**3, "epoch_ns": 1}
"""Forms of counts since 1970, each with the nanoseconds of its unit."""
FORMATS = (ISO, RFC_2822, *EPOCH_UNITS)
END, INSTANTS = "end", "instants"
MIDNIGHTS = (END, INSTANTS)
"""A user's choice for the midnights of a column: they are days, which mean their end, or they are instants."""
UNSET_DAYS = (
    date(1601, 1, 1), date(1677, 9, 21), date(1753, 1, 1), date(1899, 12, 30), date(1899, 12, 31), date(1900, 1, 1),
    date(1904, 1, 1), date(1969, 12, 31), date(1970, 1, 1),
)  # fmt: skip
FIRST_YEAR, LAST_YEAR = 2, 9998
ISO_PATTERN = (
    r"(\d{4}-\d{2}-\d{2})"
    r"(?:[Tt ]((?:[01]\d|2[0-3]):[0-5]\d)(?::([0-5]\d)(?:[.,](\d{1,12}))?)? ?"
    r"([Zz]|UTC|GMT|(?:\+(?:0\d|1[0-3])|-(?:0\d|1[01]))(?::?[0-5]\d)?|(?:\+14|-12)(?::?00)?)?)?"
)
"""A day, optionally with a clock time and an offset. It means the same to Python's `re` and to DuckDB."""
_ISO = re.compile(ISO_PATTERN, re.ASCII)
_BASIC = re.compile(r"(\d{4})(\d{2})(\d{2})(?:[Tt ](\d{2}):?(\d{2})(?::?(\d{2}))?(.*))?", re.ASCII)
_YEAR_OF_ZEROS = re.compile(r"[A-Za-z][ -]+00\d\d\b", re.ASCII)  # The e-mail parser reads the year 0001 as 2001.
_DIRECTIVES = re.compile(r"%(.)", re.DOTALL)
_CLOCK_DIRECTIVES = frozenset("HITXcrR")
_COLUMN_DIRECTIVES = frozenset("YymdbBjHIMSfp")
_WIDTHS = {"Y": 4, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2}
LEAST_SECONDS, MOST_SECONDS = 10**8, 10**11
"""Counts outside of 1973 to 5138 are in another unit, so that no count is read as an earlier time."""
_DAY = timedelta(days=1)
_QUARTERS_SINCE = 1980
_FAULTS = (ValueError, OverflowError, TypeError, AttributeError)


class Unset(Unreadable):
    """A value that programs write for a missing time."""


class MixedMidnights(PitlakeError):
    """A column has midnights and other clock times, so its midnights may be days or instants."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The meaning of a time as written.

    Attributes:
        instant: the latest instant it means if midnights are instants; the end of a day without a clock time.
        own_day: the day as it is written, on its own clock.
        day: the day, or the latest day of which it is the midnight; None for other clock times.
        end: the end of that day, the latest of its readings; None for other clock times.
        has_clock: whether a clock time is stated.
        is_written: whether the string itself is the day or its 00:00, and not another zone's midnight.
    """

    instant: datetime
    own_day: date
    day: date | None = None
    end: datetime | None = None
    has_clock: bool = True
    is_written: bool = False

    @property
    def is_midnight(self) -> bool:
        return self.has_clock and self.day is not None

    @property
    def latest(self) -> datetime:
        """Return the latest instant that a single value can mean. A midnight means its day."""
        return self.end if self.end and self.is_written else self.instant


class _Spelling(NamedTuple):
    """What a value states: its clock time, its own zone or offset, and its precision.

    is_finer: whether digits below microseconds were cut off.
    """

    wall: datetime
    own: tzinfo | None = None
    has_clock: bool = True
    has_seconds: bool = True
    is_finer: bool = False


def read(value: Any, form: str = ISO, zone: tzinfo | None = None) -> Reading:
    """Read one time.

    Args:
        value: A text, a number, a day, a datetime, or a pandas Period, which is read as its end.
        form: The form of texts and numbers: one of FORMATS, or a format of `strptime`; without an hour it is a day.
        zone: The zone of days, and of clock times without one. None: days are New York's, and other clock times
            without a zone can't be read.

    Raises:
        Unset: For a value that stands for a missing time.
        Unreadable: For anything else that is not a time.
    """
    try:
        return _read(value, form, zone)
    except _FAULTS:
        raise Unreadable("no time") from None


def stated(text: Any, form: str = ISO, *, needs_seconds: bool = True) -> datetime:
    """Return the clock time in a string, on its own clock; naive if the string has no zone.

    Raises Unreadable, also for a day, and for a time without seconds unless `needs_seconds` is false.
    """
    try:
        spelling = _spelled(text, form)
        if not spelling.has_clock or (needs_seconds and not spelling.has_seconds):
            raise Unreadable("no clock time")
        return spelling.wall.replace(tzinfo=spelling.own) + (MICROSECOND if spelling.is_finer else timedelta())
    except _FAULTS:
        raise Unreadable("no time") from None


def stated_instant(text: Any, form: str = ISO) -> datetime:
    """Return the instant, in UTC, of a string with seconds and an offset. Raises Unreadable."""
    moment = stated(text, form)
    if moment.tzinfo is None:
        raise Unreadable("a time without a zone")
    try:
        utc = moment.astimezone(timezone.utc)
    except OverflowError:
        raise Unreadable("no time") from None
    if not FIRST_YEAR <= utc.year <= LAST_YEAR:
        raise Unset("a placeholder")
    return utc


def _read(value: Any, form: str, zone: tzinfo | None) -> Reading:
    if hasattr(value, "end_time") and hasattr(value, "freq"):
        # A period is read as its last day. A period within a day is read as the instant after it.
        first, last = value.start_time, value.end_time
        if first.normalize() == first and last.date() >= first.date() and last - first > _DAY - timedelta(seconds=1):
            return _of_day(last.date(), zone)
        return _of_clock(last.floor("us").to_pydatetime(warn=False) + MICROSECOND, None, zone)
    if isinstance(value, datetime):
        if value != value:  # pandas' NaT
            raise Unreadable("no time")
        wall = datetime.combine(value.date(), value.time())
        return _of_clock(wall, value.tzinfo, zone, is_finer=bool(getattr(value, "nanosecond", 0)))
    if isinstance(value, date):
        return _of_day(value, zone)
    basic = _BASIC.fullmatch(value.strip()) if form == ISO and isinstance(value, str) else None
    if basic:
        year, month, day, hour, minute, second, rest = basic.groups()
        value = f"{year}-{month}-{day}" + (f"T{hour}:{minute}:{second or '00'}{rest}" if hour else "")
    wall, own, has_clock, _, is_finer = _spelled(value, form)
    return _of_clock(wall, own, zone, is_finer=is_finer) if has_clock else _of_day(wall.date(), zone)


def _spelled(value: Any, form: str) -> _Spelling:
    if form in EPOCH_UNITS:
        # A count since 1970 in a unit, as a number or its digits.
        if isinstance(value, bool) or not issubclass(type(value), (str, Number)):
            raise Unreadable("no number")
        is_whole = isinstance(value, str) and value.strip().lstrip("-").isdigit()
        count = int(value) if is_whole else float(value) if isinstance(value, str) else value
        if count == 0:
            raise Unset("a placeholder")
        unit = EPOCH_UNITS[form]
        if not LEAST_SECONDS <= count * unit / 10**9 < MOST_SECONDS:
            raise Unreadable("no count of this unit")
        whole, rest = divmod(count, 1)
        micros, nanos = divmod(int(whole) * unit, 1000)
        moment = EPOCH + timedelta(microseconds=micros + int(-(-rest * unit // 1000)))
        return _Spelling(moment.replace(tzinfo=None), timezone.utc, is_finer=nanos > 0)
    if form not in FORMATS:
        width = format_width(form)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        text = str(value).zfill(width) if isinstance(value, int) and not isinstance(value, bool) else value.strip()
        if width and len(text) != width:
            raise Unreadable("does not match this time format")
        moment = datetime.strptime(text, form)  # noqa: DTZ007 - The zone is settled below.
        return _Spelling(moment.replace(tzinfo=None), moment.tzinfo, has_clock(form))
    if not isinstance(value, str):
        raise Unreadable("no text")
    text = value.strip()
    if form == ISO:
        return _iso(text)
    if _YEAR_OF_ZEROS.search(text):
        raise Unset("a placeholder")
    moment = parsedate_to_datetime(text)
    return _Spelling(moment.replace(tzinfo=None), moment.tzinfo)


def _iso(text: str) -> _Spelling:
    shape = _ISO.fullmatch(text)
    if shape is None:
        raise Unreadable("no time")
    day_text, clock_text, seconds, fraction, offset = shape.groups()
    if day_text[:4] in ("0000", "0001"):
        raise Unset("a placeholder")
    day = date.fromisoformat(day_text)
    if clock_text is None:
        return _Spelling(datetime.combine(day, time()), has_clock=False)
    digits = (fraction or "").ljust(6, "0")
    clock_time = time(int(clock_text[:2]), int(clock_text[3:]), int(seconds or 0), int(digits[:6]))
    is_finer = bool(digits[6:].strip("0"))
    own = None if offset is None else timezone.utc
    if offset is not None and offset[0] in "+-":
        shift = timedelta(hours=int(offset[1:3]), minutes=int(offset[3:].lstrip(":") or 0))
        own = timezone(shift if offset[0] == "+" else -shift)
    return _Spelling(datetime.combine(day, clock_time), own, True, seconds is not None, is_finer)


def has_clock(form: str) -> bool:
    """Return whether times of this form have a clock time; the other forms are days."""
    return form in FORMATS or not _CLOCK_DIRECTIVES.isdisjoint(_DIRECTIVES.findall(form))


def format_width(form: str) -> int:
    """Return the fixed length of strings of a format without separators; 0 for other formats."""
    directives = _DIRECTIVES.findall(form)
    is_fixed = "".join(f"%{each}" for each in directives) == form and _WIDTHS.keys() >= set(directives)
    return sum(_WIDTHS[each] for each in directives) if is_fixed else 0


def _of_day(day: date, zone: tzinfo | None) -> Reading:
    _refuse_unset(day)
    end = end_of_day(day, zone)
    return Reading(end, day, day, end, has_clock=False, is_written=True)


def _of_clock(wall: datetime, own: tzinfo | None, zone: tzinfo | None, *, is_finer: bool = False) -> Reading:
    """Read a clock time. own: its own zone or offset. is_finer: whether digits below microseconds were cut off."""
    _refuse_unset(wall.date())
    is_midnight = wall.time() == time() and not is_finer
    if own is None and zone is None and not is_midnight:
        raise Unreadable("a time without a zone")
    instant = later(wall, own or zone or NEW_YORK) + (MICROSECOND if is_finer else timedelta())
    if own is not None:
        _refuse_unset(instant.date())
    days = [(wall.date(), own or zone or NEW_YORK)] if is_midnight else []
    # Since 1980 each zone is ahead by quarters of an hour, so no other time can be midnight in one of them.
    may_be_midnight = instant.year < _QUARTERS_SINCE or not (
        instant.minute % 15 or instant.second or instant.microsecond
    )
    if may_be_midnight and not is_finer and not (own is None and zone is None):
        walls = ((instant.astimezone(other), other) for other in (zone or NEW_YORK, timezone.utc))
        days += [(wall_time.date(), other) for wall_time, other in walls if wall_time.time() == time()]
    if not days:
        return Reading(instant, wall.date())
    end = max(end_of_day(day, ends_in) for day, other in days for ends_in in (other, zone))
    return Reading(instant, wall.date(), max(day for day, _ in days), end, is_written=is_midnight)


def _refuse_unset(day: date) -> None:
    if day in UNSET_DAYS or not FIRST_YEAR <= day.year <= LAST_YEAR:
        raise Unset("a placeholder")


@cache
def zone_named(name: str) -> ZoneInfo:
    """Return a time zone from the package tzdata. A system's data may be years older; DuckDB's are as new.

    Raises:
        LookupError: if there is no such zone.
    """
    data, names = _zone_data()
    if name not in names:
        raise LookupError(f"there is no time zone {name!r}")
    with data.joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


@cache
def _zone_data() -> tuple[Any, frozenset[str]]:
    from importlib import resources  # imported here, because it takes 30 ms and most commands never need it

    data = resources.files("tzdata")
    return data, frozenset((data / "zones").read_text().split())


def later(wall: datetime, zone: tzinfo) -> datetime:
    """Return the later of the instants at which a clock in the zone shows this time, or would if it did not skip it.

    Raises OverflowError outside of the calendar.
    """
    if isinstance(zone, timezone):
        return wall.replace(tzinfo=zone).astimezone(timezone.utc)
    return max(wall.replace(tzinfo=zone, fold=fold).astimezone(timezone.utc) for fold in (0, 1))


def end_of_day(day: date, zone: tzinfo | None = None) -> datetime:
    """Return the end of a day in a zone, by default New York's. Raises OverflowError for the calendar's last day."""
    return later(datetime.combine(day + _DAY, time()), zone or NEW_YORK)


def are_days(midnights: int, clock_times: int, choice: str = "") -> bool:
    """Return whether the midnights of a column are days.

    Args:
        midnights, clock_times: How many values of the column are midnights and other clock times.
        choice: The user's choice, one of MIDNIGHTS; empty for none.

    Raises:
        MixedMidnights: If the column has midnights and other clock times, and `choice` is empty.
    """
    if choice:
        return choice == END
    if midnights and clock_times:
        raise MixedMidnights(f"{midnights:,} midnights and {clock_times:,} other clock times")
    return midnights > 0


def read_column(
    values: Sequence[Any], form: str = ISO, zone: tzinfo | None = None, midnights: str = ""
) -> list[datetime | None]:
    """Return the instant at which each value of a column takes effect; None for unset and unreadable values.

    midnights: the user's choice, one of MIDNIGHTS; empty for none. Raises MixedMidnights.
    """
    readings = [_readable(value, form, zone) for value in values]
    readable = [reading for reading in readings if reading is not None]
    midnight_count = sum(reading.is_midnight for reading in readable)
    days = are_days(midnight_count, sum(reading.day is None for reading in readable), midnights)
    return [None if each is None else each.end if days and each.end else each.instant for each in readings]


def _readable(value: Any, form: str, zone: tzinfo | None) -> Reading | None:
    try:
        return read(value, form, zone)
    except Unreadable:
        return None


def checked_form(form: str) -> str:
    """Return a form in which a column may write its times. Raises BadInput."""
    if form in EPOCH_UNITS:
        return form
    directives = {*_DIRECTIVES.findall(form)}
    if not directives or not directives <= _COLUMN_DIRECTIVES:
        choices = f"{', '.join(EPOCH_UNITS)}, or a strptime format such as %m/%d/%Y or %Y%m%d %H:%M"
        raise BadInput("time_format", f"{form!r} is not a time format", f"give {choices}")
    hours, what, next_step = directives & {*"HIp"}, "", ""
    if not all(directives & {*some} for some in ("Yy", "mbB", "d")):
        what, next_step = "day", "store whole days in the table: for a month, quarter or year, use its last day"
    elif hours and ("M" not in directives or hours not in ({"H"}, {"I", "p"})):
        what, next_step = "time of a day", "write %H:%M, or %I:%M with %p for hours of a half day"
    if what:
        raise BadInput("time_format", f"{form!r} has no {what}, so a row could be available too early", next_step)
    return form
