"""Parses publication times. If a time has two possible readings, the later one counts; no time is guessed.

A date counts at its end. So does midnight, because many sources write dates as midnight. If a clock time occurs twice,
the second one counts. Fractions of a microsecond are rounded up.
"""

import re
import unicodedata
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from email.utils import parsedate_to_datetime
from typing import Any

from pitlake.clock import EPOCH, NEW_YORK

ISO, RFC_2822, EPOCH_SECONDS, EPOCH_MILLISECONDS = "iso", "rfc2822", "epoch", "epoch_ms"
FORMATS = (ISO, RFC_2822, EPOCH_SECONDS, EPOCH_MILLISECONDS)
MILLISECOND, SECOND = 1_000, 1_000_000
# Sources write 1970-01-01 or an earlier date if they have no date.
EARLIEST = datetime(1970, 1, 3, tzinfo=timezone.utc)
# Counts below this value are read as seconds and others as milliseconds, so that no count is read as an earlier time.
_MOST_SECONDS, _MOST_MILLISECONDS = 10**11, 10**14
_LEAST_COUNT = 10**8
_DAY = timedelta(days=1)
_ISO = re.compile(
    r"(\d{4})-?(\d{2})-?(\d{2})"
    r"(?:[Tt ](\d{2}):?(\d{2})(?::?(\d{2})(?:[.,](\d{1,12}))?)?\s*(?:([Zz]|UTC|GMT)|([+-])(\d{2}):?(\d{2})?)?)?"
)
_MAIL = re.compile(r"(?:[A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}.*")
_TIME_NAME = re.compile(
    r"date|time|publi|updat|modif|creat|releas|stamp|edited|(?:^|_)(?:at|ts|t|on)$|[a-z](?:At|On)$", re.IGNORECASE
)
_MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTHS = {name[:3]: number for number, name in enumerate(_MONTH_NAMES, 1)}
_MONTH = rf"({'|'.join((*_MONTH_NAMES, 'sept', *_MONTHS))})\.?"
_NAMED_DAYS = (
    (re.compile(r"(?<!\d)(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})(?!\d)"), "ymd"),
    (re.compile(r"(?<!\d)(20\d{2})(\d{2})(\d{2})(?!\d)"), "ymd"),
    (re.compile(r"(?<!\d)(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})(?!\d)"), "mdy"),
    (re.compile(r"(?<!\d)(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})(?!\d)"), "dmy"),
    (re.compile(rf"\b{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})(?!\d)", re.IGNORECASE), "mdy"),
    (
        re.compile(
            rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)?[\s-]+(?:of\s+)?{_MONTH},?[\s-]+(\d{{4}})(?!\d)", re.IGNORECASE
        ),
        "dmy",
    ),
    (re.compile(rf"\b{_MONTH},?\s+(\d{{4}})(?!\d)", re.IGNORECASE), "my"),
)
_YEAR = re.compile(r"\d{4}")


class Undated(ValueError):
    """The publication time of an item is missing or unreadable. The message does not contain the time."""


def published(spelled: Any, form: str = ISO, zone: tzinfo | None = None) -> datetime:
    """Parse a source's publication time.

    Args:
        spelled: The value that the source states.
        form: One of FORMATS, or a format of `strptime`; without an hour it is a date.
        zone: The zone of times and dates without one. None: dates are New York's, and such times can't be read.

    Raises:
        Undated: For an unreadable time, and for a placeholder of a missing date.
    """
    try:
        moment = _read(spelled, form, zone)
    except (ValueError, OverflowError, TypeError):
        raise Undated("not a publication time") from None
    if moment < EARLIEST:
        raise Undated("is a placeholder for a missing date")
    return moment


def _read(spelled: Any, form: str, zone: tzinfo | None) -> datetime:
    if form in (EPOCH_SECONDS, EPOCH_MILLISECONDS):
        return _counted(spelled, form)
    if not isinstance(spelled, str):
        raise Undated("not a text")
    text = spelled.strip()
    if form == ISO:
        return _iso(text, zone)
    if form == RFC_2822:
        return _settled(parsedate_to_datetime(text), zone)
    moment = datetime.strptime(text, form)  # noqa: DTZ007  The zone is settled below.
    has_hour = any(directive in form for directive in ("%H", "%I", "%T", "%X", "%c"))
    return _settled(moment, zone) if has_hour else end_of_day(moment.date(), zone)


def _counted(spelled: Any, form: str) -> datetime:
    if isinstance(spelled, bool):
        raise Undated("not a number")
    count = float(spelled) if isinstance(spelled, str) else spelled
    unit, least, most = (
        (SECOND, _LEAST_COUNT, _MOST_SECONDS)
        if form == EPOCH_SECONDS
        else (MILLISECOND, _MOST_SECONDS, _MOST_MILLISECONDS)
    )
    if not least <= count < most:
        raise Undated("not a count of this unit")
    whole, rest = divmod(count, 1)
    return EPOCH + timedelta(microseconds=int(whole) * unit + -(-rest * unit // 1))


def _iso(text: str, zone: tzinfo | None) -> datetime:
    shape = _ISO.fullmatch(text)
    if shape is None:
        raise Undated("not a time")
    year, month, day, hour, minute, second, fraction, utc, sign, ahead, ahead_minutes = shape.groups()
    if hour is None:
        return end_of_day(date(int(year), int(month), int(day)), zone)
    digits = (fraction or "").ljust(6, "0")
    clock_time = time(int(hour), int(minute), int(second or 0), int(digits[:6]))
    moment = datetime.combine(date(int(year), int(month), int(day)), clock_time)
    if digits[6:].strip("0"):
        moment += timedelta(microseconds=1)
    if utc:
        moment = moment.replace(tzinfo=timezone.utc)
    elif sign:
        shift = timedelta(hours=int(ahead), minutes=int(ahead_minutes or 0))
        moment = moment.replace(tzinfo=timezone(shift if sign == "+" else -shift))
    return _settled(moment, zone)


def _settled(moment: datetime, zone: tzinfo | None) -> datetime:
    """Return a time as an instant; midnight counts as its date."""
    own_zone = moment.tzinfo or zone
    if moment.time() == time():
        return end_of_day(moment.date(), own_zone)
    if own_zone is None:
        raise Undated("a time without a zone")
    return _later(moment.replace(tzinfo=None), own_zone)


def _later(wall: datetime, zone: tzinfo) -> datetime:
    """Return the later of the instants at which a clock in the zone shows this time."""
    readings = (wall.replace(tzinfo=zone, fold=fold).astimezone(timezone.utc) for fold in (0, 1))
    return max(readings)


def end_of_day(day: date, zone: tzinfo | None) -> datetime:
    """Return the end of a day in a zone, by default New York's."""
    return _later(datetime.combine(day + _DAY, time()), zone or NEW_YORK)


def stray_instants(value: Any, zone: tzinfo | None, ignored: frozenset[str] = frozenset()) -> Iterator[datetime]:
    """Yield every time in a value, at any depth: texts that are a time, and counts whose name suggests one.

    An item cannot have been published before any of these times. `ignored` names members with business dates, such as a
    maturity.
    """
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        name, current = stack.pop()
        if isinstance(current, dict):
            for key, member in current.items():
                if key not in ignored:
                    stack += [(key, member), ("", key)]
        elif isinstance(current, list):
            stack += [(name, member) for member in current]
        elif (moment := _stated(name, current, zone)) is not None:
            yield moment


def _stated(name: str, current: Any, zone: tzinfo | None) -> datetime | None:
    if isinstance(current, str):
        text = current.strip()
        if not text[:1].isalnum() or not any(character.isdigit() for character in text[:12]):
            return None
        if text.isdecimal() and len(text) != len("20240215"):
            return _counted_by_name(name, int(text)) if len(text) <= 19 else None
        shape = _ISO.fullmatch(text)
        if shape is None and not _MAIL.fullmatch(text):
            return None
        form = ISO if shape else RFC_2822
        for own_zone in (zone, NEW_YORK):
            try:
                return published(text, form, own_zone)
            except Undated:
                continue
        return None
    if isinstance(current, bool) or not isinstance(current, int | float):
        return None
    return _counted_by_name(name, current)


def _counted_by_name(name: str, count: float) -> datetime | None:
    """Return the instant of a count since 1970, in seconds or a smaller unit, if the member's name suggests a time."""
    if not _TIME_NAME.search(name):
        return None
    for unit in (1, 10**3, 10**6, 10**9):
        if _LEAST_COUNT <= count / unit < _MOST_SECONDS:
            return EPOCH + timedelta(seconds=count / unit)
    return None


def names_later_day(text: str, day: date) -> bool:
    """Return whether a text names a day after this one, in any usual spelling. Of two readings the later one counts."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if not any(int(year) >= day.year for year in _YEAR.findall(text)):
        return False
    return any(
        _is_later(shape.groups(), order, day) for pattern, order in _NAMED_DAYS for shape in pattern.finditer(text)
    )


def _is_later(parts: tuple[str, ...], order: str, day: date) -> bool:
    members = dict(zip(order, parts, strict=True))
    month = members["m"].lower()[:3]
    try:
        named_day = date(int(members["y"]), _MONTHS.get(month) or int(month), int(members.get("d", 1)))
    except ValueError:
        return False
    return named_day > day
