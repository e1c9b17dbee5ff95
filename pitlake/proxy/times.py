"""Reads the publication time of an item and all times in it. `pitlake.times` reads times of a known format.

A date means its end. So does midnight in its own zone, the policy's or New York's, because many sources write dates as
midnight, and others convert these to UTC.
"""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any

from pitlake.clock import EPOCH, NEW_YORK
from pitlake.errors import Unreadable
from pitlake.proxy.names import COUNT, NO, STRONG, WEAK, is_duration_or_zone, is_unset, kind_of_name, names_change
from pitlake.proxy.spellings import (
    LONGEST_TIME,
    bare_days,
    counted_from,
    days_in,
    instants_of,
    plain,
)
from pitlake.proxy.tables import NAMING, begin_with_instants, cells_of, heads_of, named_values, seems_instant, tables_in
from pitlake.times import EPOCH_UNITS, ISO, Unset, end_of_day, read

# Sources write 1970-01-01 or an earlier date for a missing date.
EARLIEST = datetime(1970, 1, 3, tzinfo=timezone.utc)
# Counts of days by the number of 1970-01-01: spreadsheet, Unix, and Julian days.
_COUNTS_OF_DAYS = (
    (range(30_000, 60_000), 25_569),
    (range(15_000, 25_000), 0),
    (range(2_440_588, 2_490_000), 2_440_587.5),
)
# Counts of hours and minutes since 1970.
_COUNTS_OF_UNITS = (
    (range(300_000, 700_000), timedelta(hours=1)),
    (range(15_000_000, 37_000_000), timedelta(minutes=1)),
)
_MONTH_OR_DAY = re.compile(r"(?:19|20|21)\d{4,6}")  # 202403, 2024076
_LEAST_DATE = 10_000  # Smaller numbers are durations, times of day or years.
_TIME_OF_DAY = re.compile(r"(?:1?\d|2[0-3])[0-5]\d[0-5]\d")  # 93015 is 09:30:15
_TICKS = tuple(datetime(year, 1, 1, tzinfo=timezone.utc) for year in (1, 1601))  # .NET and Windows, 100 ns each
_SECONDS = {"seconds", "_seconds", "epochSecond", "epochSeconds"}
_FRACTIONS = {"nanos", "nanoseconds", "_nanoseconds", "nano"}
_YEARS = range(1900, 2200)
LONGEST_COUNT, _LONGEST_NAME, _HIGHEST_COUNT = 40, 40, 10**20
_LONGEST_PART = 12  # of a day, such as `September`
_PARTS = {"month": "month", "monthvalue": "month", "periodname": "month", "dayofmonth": "day"}
# A time as code: /Date(1708070400000)/, ISODate("2024-02-16"), datetime.date(2024, 2, 16), Timestamp("…", tz="UTC").
_CODE = re.compile(r"/?(?:new )?([A-Za-z_][\w.]*)\(\s*['\"]?([^()]{1,60}?)['\"]?\s*(?:,\s*\w+=.{1,60})?\)/?")
_ZONE_OF_CALL = re.compile(r",\s*tz(?:info)?=[\w.]{1,40}(?:\((?:[^()]|\([^()]{0,60}\)){0,80}\))?")
_CALL = re.compile(r"\b[A-Za-z_][\w.]{0,40}\([^()]{1,120}\)")
_NUMBERS = re.compile(r"(\d{4}),\s*(\d{1,2}),\s*(\d{1,2})(?:,[\d\s,]*)?")
_ISO_DAY = re.compile(r"(?:1[89]|2[01])\d\d-?\d\d-?\d\d(?!\d|.* [A-Za-z])")
_DIGIT = re.compile(r"\d")
_COUNT = re.compile(r"@?(-?\d+(?:\.\d+)?(?:[eE]\+?\d\d?)?)(?:[+-]\d{4}| \d{1,4})?")
# JSON, possibly after `data: ` or in a call such as `callback(…)`.
_DOCUMENT = re.compile(r"[^{\[\n]{0,40}([{\[].*[}\]])[)\";\s]*", re.DOTALL)

_QUARTERS_AND_YEARS = (
    re.compile(r"(?<![\d.,$€£])(?P<y>20\d{2})(?![\d,]|\.\d)[ -]?(?:Q(?P<q>[1-4]))?", re.IGNORECASE),
    re.compile(r"\b(?:Q(?P<q>[1-4])|(?P<p>[1-4])Q|FY|H[12])[ '-]*(?P<y>20\d{2}|\d{2})(?!\d)", re.IGNORECASE),
    re.compile(
        r"\b(?P<w>first|second|third|fourth|1st|2nd|3rd|4th)[ -]quarter,?(?: of)?(?: fiscal)? (?P<y>20\d{2})\b",
        re.IGNORECASE,
    ),
)
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}


class Undated(ValueError):
    """The publication time of an item is missing or unreadable. The message does not contain the time."""


def published(spelled: Any, form: str = ISO, zone: tzinfo | None = None) -> datetime:
    """Parse a source's publication time.

    Args:
        spelled: The source's value.
        form: One of FORMATS, or a format of `strptime`; without an hour it is a date.
        zone: The zone of times and dates without one. None: dates are New York's, and such times can't be read.

    Raises:
        Undated: For an unreadable time, and for a placeholder of a missing date.
    """
    if isinstance(spelled, str):
        return _published(spelled, form, zone)
    if form not in EPOCH_UNITS:
        raise Undated("not a text")
    return _published.__wrapped__(spelled, form, zone)


@lru_cache(maxsize=8192)
def _published(spelled: Any, form: str, zone: tzinfo | None) -> datetime:
    try:
        reading = read(spelled, form, zone)
    except Unset:
        raise Undated("is a placeholder for a missing date") from None
    except Unreadable:
        raise Undated("not a publication time") from None
    moment = reading.latest if reading.is_written else counted_from(reading.instant, zone)
    if moment < EARLIEST:
        raise Undated("is a placeholder for a missing date")
    return moment


def stray_instants(
    item: Mapping[str, Any], zone: tzinfo | None, ignored: frozenset[str] = frozenset(), form: str = ISO
) -> list[datetime]:
    """Return every time in an item, at any depth: strings that are a time, and numbers whose name suggests one.

    An item cannot have been published before any of these times. Prose is not judged.

    Args:
        item: The item, including members that are not passed on.
        zone: The zone of times without one.
        ignored: Names of members with business dates, such as a maturity.
        form: The format of the item's publication time, which is tried first for other times.

    Raises:
        Undated: If a member that is named as a time can't be read as a time, duration or zone.
    """
    strays = _Strays(zone, ignored, form)
    strays.read("", item, NO)
    return strays.instants


@lru_cache(maxsize=512)
def _traits(names: tuple[str, ...]) -> tuple[bool, bool, tuple[str, ...], frozenset[str]]:
    """Return what an object's names reveal: whether it has a month, whether it counts from 1970, which names name the
    other members, and which contain digits. The items of an answer mostly share their names.
    """
    has_month = any(_PARTS.get(name.lower()) == "month" for name in names)
    is_count = bool(_FRACTIONS.intersection(names)) or _SECONDS.issuperset(names)
    naming = tuple(name for name in NAMING if name in names)
    return has_month, is_count, naming, frozenset(filter(_DIGIT.search, names))


class _Strays:
    """A collector of the times of an item. `read` returns whether it recognised a value as a time or as no time."""

    def __init__(self, zone: tzinfo | None, ignored: frozenset[str], form: str) -> None:
        self._zone, self._ignored, self._form = zone, ignored, form
        self.instants: list[datetime] = []

    def read(self, name: str, value: Any, inherited: int) -> bool:
        """Read a member. inherited: how strongly the names around it suggest a time."""
        own = kind_of_name(name) if name else NO
        kind = max(own, inherited)
        if kind == COUNT and not isinstance(value, list | dict):
            kind = WEAK if seems_instant(value) else NO
        if isinstance(value, str):
            is_readable = self._text(value, kind)
        elif isinstance(value, dict):
            is_readable = self._object(value, kind)
        elif isinstance(value, list):
            is_readable = self._list(name, value, kind)
        elif isinstance(value, bool):
            is_readable = not (value and own == STRONG and names_change(name))
        else:
            is_readable = value is None or self._number(value, kind)
        if own == STRONG and not is_readable:
            raise Undated("a member that is a time can't be read")
        return is_readable

    def _object(self, members: dict[str, Any], kind: int) -> bool:
        has_month, is_count, naming, names_with_digits = _traits(tuple(members))
        if has_month:
            parts = {_PARTS.get(name.lower(), name.lower()): member for name, member in members.items()}
            if self._day(parts.get("year"), parts["month"], parts.get("day")):
                return True
        if members.keys() == {"low", "high", "unsigned"}:  # a 64-bit integer in JavaScript
            low, high = members["low"], members["high"]
            if type(low) is type(high) is int:
                return self._number((high << 32) + (low & 0xFFFFFFFF), max(kind, WEAK))
        named_kind = max([NO, *(kind_of_name(members[name]) for name in naming if isinstance(members[name], str))])
        own = NO if kind == COUNT and len(members) > 1 else kind  # `sold: {"at": …, "shares": …}`
        inherited = STRONG if is_count else max(own, min(named_kind, WEAK))
        heads = heads_of(members) if list in map(type, members.values()) else []
        readable = []
        for name, member in members.items():
            if name in self._ignored:
                continue
            if name in names_with_digits:
                self._text(name, WEAK if len(name) in (10, 13) else NO)
            readable.append(self.read(name, member, inherited))
            if heads and isinstance(member, list):
                self._rows(["time"] if name == "index" else heads, member)
        return not readable or any(readable)

    def _rows(self, heads: list[str], rows: list[Any], most: int = WEAK) -> None:
        """Read the rows of a table by the names of its columns."""
        for row in rows:
            for head, cell in zip(heads, cells_of(row) or [row], strict=False):
                if (kind := kind_of_name(head)) != NO:
                    self.read("", cell, min(kind, most))

    def _list(self, name: str, members: list[Any], kind: int) -> bool:
        if kind > COUNT and self._day(*members[:3]):
            return True
        first = members[0] if members else None
        if kind <= COUNT and isinstance(first, list):
            pairs = [row[::-1] for row in members if isinstance(row, list) and len(row) == 2]
            is_last = len(pairs) == len(members) and not any(isinstance(pair[1], str) for pair in pairs)
            for rows in (members, pairs) if is_last else (members,):
                self._rows(["time"], rows if begin_with_instants(rows) else [])
            if len(members) > 1 and all(isinstance(cell, str) for cell in first):
                self._rows(first, members[1:], STRONG)
        if len(members) == 2 and isinstance(members[1], str) and type(first) in (int, float) and seems_instant(first):
            self._rows(["time"], [members] if _COUNT.fullmatch(members[1]) else [])  # a sample of Prometheus
        if len(members) == 2 and isinstance(first, str) and len(first) <= _LONGEST_NAME:
            self._rows(members[:1], members[1:])
        readable = [self.read(name, member, kind) for member in members]  # Each member may state a time.
        return all(readable)

    def _day(self, year: Any = None, month: Any = None, day: Any = None) -> bool:
        """Read a day, a month or a year from its parts."""
        parts = [str(part) for part in (year, month, day) if type(part) in (int, str)]
        if not (parts and parts[0].isdecimal() and int(parts[0]) in _YEARS) or len(max(parts, key=len)) > _LONGEST_PART:
            return False
        stated_times = instants_of("-".join(parts), self._zone, is_named_time=True)
        self.instants += stated_times
        return bool(stated_times)

    def _number(self, count: float, kind: int, spelled: str = "") -> bool:
        """Read a count since 1970, in seconds or a smaller unit, digits of a date, or a count of days.

        spelled: its digits, which may begin with zeros.
        """
        if kind == NO or not abs(count) < _HIGHEST_COUNT:
            return kind == NO
        if count == int(count) and (stated_times := instants_of(str(int(count)), self._zone)):
            self.instants += stated_times
            return True
        if kind == STRONG and 10**17 <= count < 10**18:
            self.instants += [start + timedelta(microseconds=int(count) // 10) for start in _TICKS]
        for form in EPOCH_UNITS:
            with suppress(Undated):
                self.instants.append(published(count, form))
                return True
        digits = spelled if spelled.isdecimal() else str(int(count))
        if kind == WEAK and not _MONTH_OR_DAY.fullmatch(digits) and int(count) not in _COUNTS_OF_UNITS[-1][0]:
            return True
        # The number is named as a time but not in seconds: days, hours or minutes, or a date.
        readings = [end_of_day(day, self._zone) for day in bare_days(digits) if day.year < _YEARS.stop]
        if not readings:
            readings += [EPOCH + (count + 1) * unit for counts, unit in _COUNTS_OF_UNITS if int(count) in counts]
        readings += [EPOCH + timedelta(days=count - first + 1) for days, first in _COUNTS_OF_DAYS if int(count) in days]
        self.instants += readings
        is_read = readings or count < _LEAST_DATE or is_unset(digits) or _TIME_OF_DAY.fullmatch(digits)
        return bool(is_read) or kind == WEAK

    def _text(self, spelled: str, kind: int) -> bool:
        text = spelled.strip()
        if ("{" in text or "[" in text) and self._json(text, kind):
            return True
        has_digits = len(text) > LONGEST_TIME or _DIGIT.search(text) is not None
        if has_digits and (
            ("\n" in text or "<" in text or ")" in text or "/ " in text or "|" in text or '":' in text)
            or ("=" in text and "://" not in text)
        ):
            for heads, *rows in tables_in(text):
                self.read("", [heads, *rows], NO)
                self._rows(heads, rows)
            for name, member in named_values(text):
                if (kind_of_member := kind_of_name(name)) != NO and member != text:
                    self.read("", member, min(kind_of_member, WEAK))
        if has_digits and (stated_times := self.stated(text, kind)):
            self.instants += [moment for moment in stated_times if moment >= EARLIEST]
            return True
        if kind == NO or is_unset(text):
            return True
        if len(text) <= LONGEST_COUNT and (whole := _COUNT.fullmatch(text)):
            return self._number(int(whole[1]) if whole[1].lstrip("-").isdecimal() else float(whole[1]), kind, whole[1])
        return kind == WEAK or is_duration_or_zone(text)

    def _json(self, text: str, kind: int) -> bool:
        """Read one JSON document, or one in each line."""
        for parts in ([text], text.splitlines()):
            documents = [_document(part) for part in parts if part.strip()]
            if all(isinstance(document, dict | list) for document in documents):
                return self.read("", documents, kind)
        return False

    def stated(self, text: str, kind: int) -> Sequence[datetime]:
        """Return the instants that a string as a whole states."""
        if len(text) > LONGEST_TIME:
            return []
        if self._form not in EPOCH_UNITS and (self._form != ISO or _ISO_DAY.match(text)):
            for zone in (self._zone, NEW_YORK):
                try:
                    return [published(text, self._form, zone)]
                except Undated:
                    continue
        if code := _CODE.fullmatch(text):
            return self._code(*code.groups())
        return instants_of(text, self._zone, is_named_time=kind != NO)

    def _code(self, name: str, inner: str) -> Sequence[datetime]:
        """Read the argument of a call such as ISODate(…)."""
        if numbers := _NUMBERS.fullmatch(inner):
            year, month, day = map(int, numbers.groups())
            month += name == "Date" and month < 12  # JavaScript's first month is 0.
            inner = f"{year}-{month:02}-{day:02}"
        if count := _COUNT.fullmatch(inner):
            before = len(self.instants)
            self._number(int(float(count[1])), WEAK)
            return self.instants[before:]
        return instants_of(inner, self._zone, is_named_time=True)


def _document(text: str) -> Any:
    """Parse a string as JSON or as a Python literal; None for anything else."""
    if (shape := _DOCUMENT.fullmatch(text.strip().lstrip("\ufeff"))) is None:
        return None
    for read_text, part in ((json.loads, shape[0]), (json.loads, shape[1]), (_literal, shape[1])):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            document = read_text(part)
            return _document(document) if isinstance(document, str) else document
    return None


def _literal(text: str) -> Any:
    """Parse a Python literal, with calls such as datetime.date(2024, 2, 16) as strings."""
    try:
        document = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        document = ast.literal_eval(_CALL.sub(lambda call: repr(call[0]), _ZONE_OF_CALL.sub("", text)))
    return json.loads(json.dumps(document, default=_listed, skipkeys=True))


def _listed(value: Any) -> Any:
    return sorted(map(str, value)) if isinstance(value, set) else str(value)


def is_up_to(text: str, as_of: datetime, zone: tzinfo | None, form: str = ISO) -> bool:
    """Return whether a string as a whole is a time up to an instant, such as a local time of the following day."""
    stated_times = _Strays(zone, frozenset(), form).stated(text.strip(), NO)
    return bool(stated_times) and max(stated_times) <= as_of


def _names_later_period(text: str, day: date) -> bool:
    """Return whether a text names a year or a quarter after that of the day."""
    for pattern in _QUARTERS_AND_YEARS:
        for shape in pattern.finditer(text):
            parts = shape.groupdict()
            quarter = int(parts.get("q") or parts.get("p") or _ORDINALS.get((parts.get("w") or "").lower(), 0))
            year = int(parts["y"]) + (2000 if len(parts["y"]) == 2 else 0)
            if (year, quarter) > (day.year, (day.month + 2) // 3 if quarter else 0):
                return True
    return False


def names_later_day(text: str, day: date, *, periods: bool = False) -> bool:
    """Return whether a text names a day after this one in a common format. Of two readings, the later is used.

    periods: whether a year or a quarter after that of the day is enough.
    """
    text = plain(text)
    return any(named_day > day for named_day in days_in(text, day.year)) or (periods and _names_later_period(text, day))
