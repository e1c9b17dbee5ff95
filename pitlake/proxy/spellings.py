"""Recognises times by a member's name and by the format of a string, in the formats that servers use.

A string is a time only as a whole, not because it mentions one. Of several readings, the latest is used: of day and
month, of the zone that an abbreviation means, and of a clock time that occurs twice.
"""

import html
import re
import unicodedata
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any, TypeVar

from pitlake.clock import NEW_YORK
from pitlake.proxy.vocabulary import LABELS, MONTHS, WEEKDAYS, without_accents
from pitlake.times import end_of_day, later, zone_named

Orders = tuple[str, ...]
Pattern = tuple[re.Pattern[str], Orders]
"""A pattern of a day, with the orders in which its groups may be read."""
DAY = timedelta(days=1)
LONGEST_TIME, LONGEST_PERIOD = 100, 10
_EASTERN_YEARS, _FIRST_ISLAMIC_YEAR, _BUDDHIST_YEARS = range(1300, 1500), 1420, range(2443, 2643)
T = TypeVar("T")
_AROUND = " \t\r\n'\"()[]*`|~#>"
_ZEROS = str.maketrans("123456789", "000000000")
_WEST = timezone(timedelta(hours=-12))  # The latest reading of an unknown zone.

_MONTH_WORD = rf"({'|'.join(sorted(MONTHS, key=len, reverse=True))})(?![^\W\d_])\.?"
# The alternatives are slow, so they are only tried on a word before a number.
_MONTH = rf"(?=[^\W\d_]{{3,}}+[\s.,/-]*+(?:(?:of|del?)\s++)?+['\d]){_MONTH_WORD}"
_DAY_NUMBER = r"(\d{1,2})(?:st|nd|rd|th|er|e|º|\.)?"
_YEAR_NUMBER = r"(\d{4}|'\d{2})(?!\d)"
_LIKE_NUMBERS = ("ymd", "mdy", "dmy")
_NUMBERED_DAYS = (
    (
        re.compile(r"(?<!\d)(\d{4})(?:[-/_]|\. ?|\s*[年년] ?)(\d{1,2})(?:[-/_]|\. ?|\s*[月월] ?)(\d{1,2})(?!\d)"),
        ("ymd",),
    ),
    (re.compile(r"(?<![\d:])(\d{4}):(\d\d):(\d\d)(?![\d:])"), ("ymd",)),
    (re.compile(r"(?<!\d)(20\d{2})(\d{2})(\d{2})(?:(?!\d)|(?=[0-2]\d[0-5]\d[0-5]\d(?!\d)))"), ("ymd",)),
    (re.compile(r"(?<![\d.])(\d{1,2})\s?[-/._]\s?(\d{1,2})\s?[-/._]\s?(\d{4})(?!\d)"), ("mdy", "dmy")),
    (re.compile(r"(?<!\d)(\d{1,2}) thang (\d{1,2}),? (?:nam )?(\d{4})(?!\d)"), ("dmy",)),
    (re.compile(r"(?<!\d)(\d{4})-?W(\d{2})-?(\d)?(?!\d)"), ("ywk",)),
    (re.compile(r"(?<!\d)(\d{4})-(\d{3})(?!\d|-)"), ("yn",)),
)
_NAMED_DAYS = (
    (
        re.compile(
            rf"\b{_MONTH}[\s/-]*(?:\d\d?\s?(?:-|to|and|&)\s?)?{_DAY_NUMBER},?(?:[\s/-]+|\s+\d\d:\d\d(?::\d\d)?(?:\s+[A-Z+\d]{{2,5}})?\s+){_YEAR_NUMBER}",
            re.IGNORECASE,
        ),
        ("mdy",),
    ),
    (
        re.compile(
            rf"(?<!\d){_DAY_NUMBER}[\s/-]*(?:of\s+|de\s+)?{_MONTH},?(?:[\s/-]*|\s+(?:of|de|del)\s+){_YEAR_NUMBER}",
            re.IGNORECASE,
        ),
        ("dmy",),
    ),
    (re.compile(rf"(?<!\d)(\d{{4}})(?: m\.|[.,])?[\s/-]*{_MONTH}[\s/-]*{_DAY_NUMBER}(?!\d)", re.IGNORECASE), ("ymd",)),
)
_MONTHS_OF_YEARS = (
    (re.compile(rf"\b{_MONTH},?[\s/-]*(?:of\s+|de\s+)?{_YEAR_NUMBER}", re.IGNORECASE), ("my",)),
    (re.compile(rf"(?<!\d)(\d{{4}})[\s/-]+{_MONTH_WORD}(?!\s*\d)", re.IGNORECASE), ("ym",)),
)
# Dates with a two-digit year. In prose, only unmistakable forms are used.
_SHORT_DAYS = (
    (re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{2})(?![\d/])"), _LIKE_NUMBERS),
    (re.compile(r"(?<![\w.-])(\d{2})([.-])(\d{2})\2(\d{2})(?![\d.-]*\d)"), ("m-dy", "d-my", "y-md")),
    (re.compile(rf"(?<!\d)(\d{{1,2}})-{_MONTH}-(\d{{2}})(?!\d)", re.IGNORECASE), ("dmy",)),
)
_SHORT_WHOLE_DAYS = (
    *_SHORT_DAYS,
    (re.compile(r"(?<![\d-])(\d{1,2})-(\d{1,2})-(\d{2})(?![\d-])"), _LIKE_NUMBERS),
    (re.compile(rf"(?<!\d){_DAY_NUMBER}[\s/-]*{_MONTH}[\s/-]*(\d{{2}})(?![\d:])", re.IGNORECASE), ("dmy", "ymd")),
    (re.compile(rf"\b{_MONTH}[\s/-]*{_DAY_NUMBER},?[\s/-]+(\d{{2}})(?![\d:])", re.IGNORECASE), ("mdy",)),
)
_SHORT_DOTTED_DAY = (re.compile(r"(?<![\d.])(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{2})(?![\d.])"), _LIKE_NUMBERS)
_PERIODS = (
    (re.compile(r"(\d{4})[-/.](\d{1,2})"), ("ym",)),
    (re.compile(r"(\d{1,2})[-/.](\d{4})"), ("my",)),
    (re.compile(r"(\d{4})[ -]?M(\d\d)", re.IGNORECASE), ("ym",)),
    (re.compile(r"(?:FY ?|CY ?)?((?:19|20|21)\d\d)", re.IGNORECASE), ("y",)),
    (re.compile(r"(?:FY ?|CY ?)?(\d{4})[ -]?Q([1-4])", re.IGNORECASE), ("yq",)),
    (re.compile(r"Q([1-4])[ -]?(?:FY ?)?(\d{4})", re.IGNORECASE), ("qy",)),
    (re.compile(r"(\d{4})[ -]?[HS]([12])", re.IGNORECASE), ("yh",)),
    (re.compile(r"H([12])[ -]?(\d{4})", re.IGNORECASE), ("hy",)),
)
# Digits of a date without separators, in a member that is named as a time.
_BARE_DAYS = (
    (re.compile(r"(\d{4})(\d\d)(\d\d)"), ("ymd",)),
    (re.compile(r"(\d{4})(\d{3})"), ("yn",)),
    (re.compile(r"(\d\d)(\d\d)(\d\d)"), _LIKE_NUMBERS),
    (re.compile(r"((?:19|20|21)\d\d)(\d\d)(?:00)?"), ("ym",)),
    (re.compile(r"((?:19|20|21)\d\d)(1[3-9]|[2-5]\d)()"), ("ywk",)),
    (re.compile(r"((?:19|20|21)\d\d)"), ("y",)),
)
_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)[Tt ]?(\d\d)(\d\d)(\d\d)?(?:\.?\d{1,9})?(Z|[+-]\d\d:?\d\d)?")
_DIGITS_OF_COUNTS, _DIGITS_OF_DAYS = (13, 16, 19), (8, 12, 14)
_CLOCK = re.compile(
    r"(?<![\d:])(\d{1,2})(?:(?:[:h時点]|\.(?=\d{2}(?:\D|$)))\s?(\d{2})(?:[:.分]?\s?(\d{2})(?:[.,](\d{1,9}))?秒?)?)?"
    r"\s*(a\.?m\.?|p\.?m\.?)?(?![\d:])",
    re.IGNORECASE,
)
_COLON_CLOCK = re.compile(
    r"(?<![\d:])(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(a\.?m\.?|p\.?m\.?)?(?![\d:])", re.IGNORECASE
)
_OFFSET = re.compile(
    r"(?:(?<=:\d\d)|(?<=[.,]\d{3})|(?<=[.,]\d{6})|(?<=\d{9})|(?<=\s)|UTC|GMT)\s?([+-])(\d\d?):?(\d\d)?(?![\d:-])"
)
_IANA = re.compile(r"[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)?")
_FIRST_WORD, _HAS_DIGITS = re.compile(r"([^\W\d_]{2,})(?![/_])"), re.compile(r"\d{4}|\d\D+\d\d|'\d\d")
_HAS_LETTER, _HAS_WORD = re.compile(r"[A-Za-z]"), re.compile(r"[^\W\d_]{3}")
_YEAR_BEFORE_CLOCK = re.compile(r"(?<=[/-]\d{4}):(?=\d\d:\d\d)")
_AFTERNOON = re.compile(r"(?:午後|下午|오후)\s*(\d{1,2})(?:[:時时点點]|시\s?)(\d\d)?(?:[分분])?")
_ERA, _TOKEN = re.compile(r"令和\s?(\d{1,2}|元)\s?年"), re.compile(r"\d+|[^\W\d_]+|[^\s]")
_HOURS_OF_ZONES = {
    "utc": 0, "gmt": 0, "z": 0, "ut": 0, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8,
    "pdt": -7, "akst": -9, "akdt": -8, "hst": -10, "ast": -4, "adt": -3, "nst": -3.5, "brt": -3, "art": -3, "wet": 0,
    "west": 1, "bst": 1, "ist": 1, "cet": 1, "cest": 2, "mez": 1, "mesz": 2, "eet": 2, "eest": 3, "msk": 3, "jst": 9,
    "kst": 9, "hkt": 8, "sgt": 8, "awst": 8, "aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13,
}  # fmt: skip
_ZONES: dict[str, tzinfo] = {name: timezone(timedelta(hours=hours)) for name, hours in _HOURS_OF_ZONES.items()} | {
    name: zone_named(f"America/{city}")
    for names, city in (
        (("et", "eastern"), "New_York"),
        (("ct", "central"), "Chicago"),
        (("mt", "mountain"), "Denver"),
        (("pt", "pacific"), "Los_Angeles"),
    )
    for name in names
}
_TIME_WORDS = frozenset((*MONTHS, *_ZONES, *WEEKDAYS, *LABELS))
_YEAR, _NEAR, _LONG_GAP = re.compile(r"\d{4}"), 120, re.compile(r"[\s/-]{9}")
_HAS_SHORT_YEAR = re.compile(r"[/.'-]\d{2}(?!\d)")


class _Signs(dict[int, str | None]):
    """The replacement of each character by `plain`, by its code."""

    def __missing__(self, code: int) -> str | None:
        sign = chr(code)
        category = unicodedata.category(sign)
        plain_sign = str(unicodedata.digit(sign)) if sign.isdigit() else " " if sign.isspace() else sign
        self[code] = None if category == "Cf" else "-" if category == "Pd" or sign == "−" else plain_sign
        return self[code]


_SIGNS = _Signs()


def plain(text: str) -> str:
    """Return a string with all digits in ASCII, and without accents and invisible characters."""
    if "&" in text:
        text = html.unescape(text)
    text = text.replace("\\/", "/")
    if text.isascii():
        return text
    text = without_accents(text).translate(_SIGNS).replace("พ.ศ.", "")
    text = _ERA.sub(lambda era: f"{2018 + (1 if era[1] == '元' else int(era[1]))}年", text)
    return _AFTERNOON.sub(r" \1:\2 pm ", text) if _AFTERNOON.search(text) else text


@lru_cache(maxsize=4096)
def instants_of(text: str, zone: tzinfo | None = None, *, is_named_time: bool = False) -> tuple[datetime, ...]:
    """Return the instants that a string as a whole states; none if it is not a time.

    A day, a midnight and a period mean their end. Each of several days means its end.

    Args:
        text: A value, or the name of a member.
        zone: The zone of times without one, by default New York's.
        is_named_time: Whether the member is named as a time, so that months, quarters and years are times too.
    """
    text = plain(text).strip(_AROUND) if len(text) <= LONGEST_TIME else ""
    word = _FIRST_WORD.match(text)
    is_number = text.isdecimal() and not is_named_time and len(text) not in _DIGITS_OF_DAYS
    if is_number or not _HAS_DIGITS.search(text) or (word and word[1].lower() not in _TIME_WORDS):
        return ()
    if whole := _COMPACT.fullmatch(text):
        # Milliseconds, microseconds and nanoseconds since 1970 may look like a day of the years 1001 to 1999.
        is_day = is_named_time or len(text) in _DIGITS_OF_DAYS
        is_count = text.isdecimal() and (len(text) in _DIGITS_OF_COUNTS or not is_day)
        return () if is_count else _compact(whole, zone)
    layout = _layout(text.translate(_ZEROS), is_named_time)
    moment = layout.read(text, zone) if layout else None
    if moment is None and is_named_time and (period := _period(text)):
        moment = end_of_day(period, zone or NEW_YORK)
    if moment:
        return (moment,)
    rest, zones = _without_zone(_YEAR_BEFORE_CLOCK.sub(" ", text))
    if not _is_of_time_words(rest):
        return ()
    spelled_clocks = [*_COLON_CLOCK.finditer(rest)]
    days, rest = _days(_COLON_CLOCK.sub(_blank, rest), is_named_time, _latest_of)
    if is_named_time and not days:
        days = [period for period in (_period(rest.strip()),) if period]
    if not days:
        return ()
    clock_shapes = (*spelled_clocks, *_CLOCK.finditer(rest))
    clocks = [clock for shape in clock_shapes if (clock := _clock(*shape.groups())) is not None]
    own_zone = zones[0] if zones else zone or NEW_YORK
    with suppress(OverflowError):
        if len(days) == 1 and len(clocks) == 1 and clocks[0] != time():
            return (counted_from(later(datetime.combine(days[0], clocks[0]), own_zone), zone),)
        return tuple(end_of_day(day, own_zone) for day in days)
    return ()


def _period(text: str) -> date | None:
    """Return the last day of the month, quarter, half or year that a string names."""
    if len(text) > LONGEST_PERIOD:
        return None
    shapes = ((pattern.fullmatch(text), orders) for pattern, orders in _PERIODS)
    days = (_latest_of(shape, orders) for shape, orders in shapes if shape)
    return next((day for day in days if day and day.year < date.max.year), None)


def bare_days(digits: str) -> list[date]:
    """Return the days that digits without separators may name: for each matching pattern, the latest reading."""
    shapes = ((pattern.fullmatch(digits), orders) for pattern, orders in _BARE_DAYS)
    return [day for shape, orders in shapes if shape and (day := _latest_of(shape, orders))]


def counted_from(instant: datetime, zone: tzinfo | None) -> datetime:
    """Return the instant, or the end of its day for a midnight in the zone or in New York.

    Sources convert the days of their bars to UTC, so 2024-02-14T05:00:00Z may be the whole day in New York.
    """
    if instant.minute % 15 or instant.second or instant.microsecond:
        return instant
    midnights = [local for own in (zone, NEW_YORK) if own and (local := instant.astimezone(own)).time() == time()]
    return max((end_of_day(local.date(), local.tzinfo) for local in midnights), default=instant)


def days_in(text: str, first_year: int) -> Iterator[date]:
    """Yield every day since a year that a string names in a common format, and the first day of every such month."""
    years = [year for year in _YEAR.finditer(text) if int(year[0]) >= first_year]
    has_short_year = bool(_HAS_SHORT_YEAR.search(text))
    if has_short_year:
        yield from _read(text, _SHORT_DAYS, first_of_month=True)
    elif years and not _LONG_GAP.search(text):
        # Only the parts near these years: a month far from a year does not belong to it.
        parts = [slice(0, 0)]
        for year in years:
            start, end = max(0, year.start() - _NEAR), year.end() + _NEAR
            if start <= parts[-1].stop:
                parts[-1] = slice(parts[-1].start, end)
            else:
                parts.append(slice(start, end))
        text = " | ".join(text[part] for part in parts)
    if years:
        yield from _read(text, (*_NUMBERED_DAYS, *_MONTHS_OF_YEARS), first_of_month=True)
    if years or has_short_year:
        yield from _read(text, _NAMED_DAYS, first_of_month=True)


@dataclass(frozen=True)
class _Layout:
    """The positions of the parts of day and clock in strings of one shape. clock: None if they state no clock time."""

    day: tuple[slice, ...]
    orders: tuple[str, ...]
    clock: tuple[slice | None, ...] | None
    zone: tzinfo | None
    offset: slice | None

    def read(self, text: str, zone: tzinfo | None) -> datetime | None:
        """Return the instant of a string of this shape; None if one of its parts is invalid."""
        day = _latest(tuple([text[part] for part in self.day]), self.orders, first_of_month=False)
        clock = _clock(*[part and text[part] for part in self.clock]) if self.clock else time()
        ahead = self.offset and text[self.offset].replace(":", "")
        if day is None or clock is None or (ahead and int(ahead[1:3]) > 14):
            return None
        own_zone = _offset(ahead) if ahead else self.zone or zone or NEW_YORK
        with suppress(OverflowError):
            if clock == time():
                return end_of_day(day, own_zone)
            return counted_from(later(datetime.combine(day, clock), own_zone), zone)
        return None


@lru_cache(maxsize=4096)
def _layout(shape: str, is_named_time: bool) -> _Layout | None:
    """Return the layout of strings of a shape, whose digits are zeros; None if it depends on the digits."""
    shape = _YEAR_BEFORE_CLOCK.sub(" ", shape)
    rest, zones = _without_zone(shape)
    offsets = [each for each in _OFFSET.finditer(shape) if ":" in shape[: each.start()] or each[0][0] in "UG"]
    if not _is_of_time_words(rest) or len(offsets) > 1 or (offsets and offsets[0].end(3) - offsets[0].start(2) < 4):
        return None
    clocks = [*_COLON_CLOCK.finditer(rest)]
    days, rest = _days(_COLON_CLOCK.sub(_blank, rest), is_named_time, lambda day, orders: (day, orders))
    clocks = [each for each in (*clocks, *_CLOCK.finditer(rest)) if each[2] or each[5]]
    if len(days) != 1 or len(clocks) > 1:
        return None
    (day, orders), clock = days[0], clocks[0] if clocks else None
    return _Layout(
        tuple(slice(*day.span(number)) for number in range(1, len(orders[0].replace("-", "x")) + 1)),
        orders,
        clock and tuple(slice(*clock.span(number)) if clock[number] else None for number in range(1, 6)),
        zones[0] if zones else None,
        slice(offsets[0].start(1), offsets[0].end(3)) if offsets else None,
    )


def _compact(shape: re.Match[str], zone: tzinfo | None) -> tuple[datetime, ...]:
    year, month, day, hour, minute, second, ahead = shape.groups()
    with suppress(ValueError, OverflowError):
        clock = time(int(hour), int(minute), int(second or 0))
        wall = datetime.combine(date(int(year), int(month), int(day)), clock)
        own_zone = _offset(ahead) if ahead else zone or NEW_YORK
        return (end_of_day(wall.date(), own_zone) if clock == time() else counted_from(later(wall, own_zone), zone),)
    return ()


def _without_zone(text: str) -> tuple[str, list[tzinfo]]:
    """Return a string without its zones, and the zones, most specific first."""
    zones: list[tzinfo] = []
    for name in _IANA.findall(text):
        with suppress(LookupError):
            zones.append(zone_named(name))
            text = text.replace(name, " " * len(name))
    for shape in _OFFSET.finditer(text):
        if int(shape[2]) <= 14 and (":" in text[: shape.start()] or shape[0][0] in "UG"):
            text = text[: shape.start()] + _blank(shape) + text[shape.end() :]
            zones.insert(0, _offset(shape[1] + shape[2].zfill(2) + (shape[3] or "00")))
            break
    if not _HAS_LETTER.search(text):
        return text, zones
    names = [word for word in re.findall(r"[A-Za-z]+", text) if word.lower() in _ZONES]
    text = re.sub(r"\b[A-Z]{2,4}\b", lambda shape: _blank(shape) if shape[0] in names else shape[0], text)
    strange = re.search(r"\d:\d\d(?::\d\d)?\s+\(?([A-Z]{2,5})\)?$", text)
    if not zones and names:
        clock_time = datetime(2024, 1, 1)  # noqa: DTZ001 - a clock time of the zone
        named_zones = (_ZONES[name.lower()] for name in names)
        zones.append(min(named_zones, key=lambda zone: zone.utcoffset(clock_time) or timedelta()))
    elif strange and strange[1].lower() not in _TIME_WORDS:
        zones, text = zones or [_WEST], text[: strange.start(1)].rstrip("( ")
    return text, zones


def is_clock_or_zone(text: str) -> bool:
    """Return whether a string is a time of day, a time zone or both."""
    rest, zones = _without_zone(text)
    rest = " ".join(
        word for word in rest.split() if word.lower() not in _TIME_WORDS or word[1:].lower() in ("m", ".m.")
    )
    shape = _CLOCK.fullmatch(rest)
    return (bool(zones) and not rest) or (shape is not None and _clock(*shape.groups()) is not None)


def _offset(ahead: str) -> tzinfo:
    if ahead == "Z":
        return timezone.utc
    shift = timedelta(hours=int(ahead[1:3]), minutes=int(ahead[-2:]))
    return timezone(-shift if ahead[0] == "-" else shift)


def _is_of_time_words(text: str) -> bool:
    return all(token.isdigit() or not token.isalnum() or token.lower() in _TIME_WORDS for token in _TOKEN.findall(text))


def _days(text: str, is_named_time: bool, read: Callable[[re.Match[str], Orders], T | None]) -> tuple[list[T], str]:
    """Return the result of `read` for each day in a string, and the string without the days."""
    name_patterns = _NAMED_DAYS if _HAS_WORD.search(text) else ()
    patterns: list[Pattern] = [*_NUMBERED_DAYS, *name_patterns, *_SHORT_WHOLE_DAYS]
    if is_named_time:
        patterns += [_SHORT_DOTTED_DAY, *_MONTHS_OF_YEARS]
    days: list[T] = []
    for pattern, orders in patterns:
        for shape in reversed(list(pattern.finditer(text))):
            if (day := read(shape, orders)) is not None:
                days.append(day)
                text = text[: shape.start()] + _blank(shape) + text[shape.end() :]
        if days and not _HAS_DIGITS.search(text):
            break
    return days, text


def _blank(shape: re.Match[str]) -> str:
    """Return as many blanks as a match is long, so that later parts keep their positions."""
    return " " * len(shape[0])


def _latest_of(shape: re.Match[str], orders: Orders) -> date | None:
    return _latest(shape.groups(), orders, first_of_month=False)


def _read(text: str, patterns: Iterable[Pattern], **how: bool) -> Iterator[date]:
    for pattern, orders in patterns:
        for shape in pattern.finditer(text):
            if (day := _latest(shape.groups(), orders, **how)) is not None:
                yield day


@lru_cache(maxsize=4096)
def _latest(parts: tuple[str | None, ...], orders: tuple[str, ...], *, first_of_month: bool) -> date | None:
    readings = [_day(dict(zip(order, parts, strict=True)), first_of_month) for order in orders]
    return max((day for day in readings if day is not None), default=None)


def _day(parts: dict[str, Any], first_of_month: bool) -> date | None:
    """Return the day that the parts of a date name; for a period, its last or first day."""
    spelled_year = parts["y"].lstrip("'")
    year = int(spelled_year) + (2000 if len(spelled_year) <= 2 else 0)
    year -= 543 if year in _BUDDHIST_YEARS else 0
    with suppress(ValueError, OverflowError):
        if "k" in parts:
            return date.fromisocalendar(year, int(parts["w"]), int(parts["k"] or (1 if first_of_month else 7)))
        if "n" in parts:
            day = date(year, 1, 1) + (int(parts["n"]) - 1) * DAY
            return day if day.year == year else None
        spelled = parts.get("m", "").lower()
        last_month = 3 * int(parts["q"]) if "q" in parts else 6 * int(parts["h"]) if "h" in parts else 12
        month = MONTHS.get(spelled) or int(spelled or last_month)
        if year in _EASTERN_YEARS and month in MONTHS.values():
            # The Persian calendar, or from 1420 (as a Persian year, 2041) the day after one of the Islamic.
            if year < _FIRST_ISLAMIC_YEAR:
                cycles, rest = divmod(year + 1595, 33)
                before = 12_053 * cycles + 365 * rest + (rest + 3) // 4 + 31 * (month - 1) - max(0, month - 7) - 356_033
            else:
                before = 354 * (year - 1) + (3 + 11 * year) // 30 - (-59 * (month - 1) // 2) + 227_015
            return date.fromordinal(before + int(parts.get("d") or 31))
        return date(year, month, int(parts.get("d") or (1 if first_of_month else monthrange(year, month)[1])))
    return None


def _clock(hour: Any, minute: Any, second: Any, fraction: Any, half: Any) -> time | None:
    if minute is None and half is None:
        return None
    with suppress(ValueError):
        hours = int(hour) % 12 + (12 if half[0] in "pP" else 0) if half else int(hour)
        return time(hours, int(minute or 0), int(second or 0), int((fraction or "0").ljust(6, "0")[:6]))
    return None
