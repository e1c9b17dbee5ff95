"""When an item was published, and which times it states. `pitlake.times` reads each time in a stated format.

A date counts at its end. So does midnight, in its own zone, the policy's or New York's, because many sources write
dates as midnight, and others convert these to UTC.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any

from pitlake.clock import EPOCH, NEW_YORK
from pitlake.errors import Unreadable
from pitlake.proxy.names import NO, STRONG, WEAK, is_duration_or_zone, is_relative, is_unset, kind_of_name, names_change
from pitlake.proxy.spellings import LONGEST_TIME, counted_from, days_in, instants_of, names_later_period, plain
from pitlake.times import EPOCH_UNITS, ISO, Unset, end_of_day, read

# Sources write 1970-01-01 or an earlier date if they have no date.
EARLIEST = datetime(1970, 1, 3, tzinfo=timezone.utc)
_SHEET_EPOCH = datetime(1899, 12, 30, tzinfo=timezone.utc)
_SHEET_DAYS, _DAYS = range(30_000, 60_000), range(15_000, 25_000)
_YEARS = range(1900, 2200)
LONGEST_COUNT = 40
# A time as code: /Date(1708070400000)/, ISODate("2024-02-16"), datetime.date(2024, 2, 16).
_CODE = re.compile(r"/?(?:new )?[A-Za-z_.]+\(\s*['\"]?([^()]{1,60}?)['\"]?\s*\)/?")
_NUMBERS = re.compile(r"(\d{4}),\s*(\d{1,2}),\s*(\d{1,2})(?:,[\d\s,]*)?")
_ISO_DAY = re.compile(r"\d{4}-?\d\d-?\d\d(?!\d|.* [A-Za-z])")
_DIGIT = re.compile(r"\d")
_COUNT = re.compile(r"(-?\d+(?:\.\d+)?)(?:[+-]\d{4})?")


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
    """Return every time in an item, at any depth: texts that are a time, and numbers whose name suggests one.

    An item cannot have been published before any of these times. Prose is not judged.

    Args:
        item: The item, with members that are not passed on.
        zone: The zone of times without one.
        ignored: Names of members with business dates, such as a maturity.
        form: The format of the item's publication, in which other times are read first.

    Raises:
        Undated: If a member whose name says that it is a time can't be read as a time, duration or zone.
    """
    strays = _Strays(zone, ignored, form)
    strays.read("", item, NO)
    return strays.instants


class _Strays:
    """Collects the times of an item. `read` says whether it could read a value as a time or as no time at all."""

    def __init__(self, zone: tzinfo | None, ignored: frozenset[str], form: str) -> None:
        self._zone, self._ignored, self._form = zone, ignored, form
        self.instants: list[datetime] = []

    def read(self, name: str, value: Any, inherited: int) -> bool:
        """Read a member. inherited: how much the names around it say that it is a time."""
        own = kind_of_name(name) if name else NO
        kind = max(own, inherited)
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
        if not members or self._parts(members):
            return True
        inherited = STRONG if {"nanos", "nanoseconds", "_nanoseconds", "nano"}.intersection(members) else kind
        readable = []
        for name, member in members.items():
            if name not in self._ignored:
                if _DIGIT.search(name):
                    self._text(name, NO)
                readable.append(self.read(name, member, inherited))
        return not readable or any(readable)

    def _parts(self, members: dict[str, Any]) -> bool:
        names = {"monthvalue": "month", "dayofmonth": "day"}
        parts = {names.get(name.lower(), name.lower()): member for name, member in members.items()}
        return self._day(parts.get("year"), parts.get("month"), parts.get("day"))

    def _list(self, name: str, members: list[Any], kind: int) -> bool:
        if kind != NO and len(members) >= 3 and self._day(*members[:3]):
            return True
        readable = [self.read(name, member, kind) for member in members]  # Each may state a time.
        return all(readable)

    def _day(self, year: Any, month: Any, day: Any) -> bool:
        if type(year) is not int or type(month) is not int or type(day) is not int or year not in _YEARS:
            return False
        try:
            self.instants.append(end_of_day(date(year, month, day), self._zone))
        except (ValueError, OverflowError):
            return False
        return True

    def _number(self, count: float, kind: int) -> bool:
        """Read a count since 1970, in seconds or a smaller unit, digits of a date, or a count of days."""
        if kind == NO:
            return True
        if isinstance(count, int) and (stated_times := instants_of(str(count), self._zone)):
            self.instants += stated_times
            return True
        for form in EPOCH_UNITS:
            with suppress(Undated):
                self.instants.append(published(count, form))
                return True
        if kind == STRONG and int(count) in _SHEET_DAYS:
            self.instants.append(_SHEET_EPOCH + timedelta(days=count + 1))
        elif kind == STRONG and count in _DAYS:
            self.instants.append(EPOCH + timedelta(days=count + 1))
        return True

    def _text(self, spelled: str, kind: int) -> bool:
        text = spelled.strip()
        if text[:1] in ("{", "[") and text[-1:] in ("}", "]") and self._json(text, kind):
            return True
        if stated_times := self.stated(text, kind):
            self.instants += [moment for moment in stated_times if moment >= EARLIEST]
            return True
        if kind == NO or is_unset(text):
            return True
        if len(text) <= LONGEST_COUNT and (whole := _COUNT.fullmatch(text)):
            return self._number(float(whole[1]) if "." in whole[1] else int(whole[1]), kind)
        return is_duration_or_zone(text) or (kind == WEAK and not is_relative(text))

    def _json(self, text: str, kind: int) -> bool:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            return False
        return isinstance(document, dict | list) and self.read("", document, kind)

    def stated(self, text: str, kind: int) -> Sequence[datetime]:
        """Return the instants that a text as a whole states."""
        if len(text) > LONGEST_TIME or not _DIGIT.search(text):
            return []
        if self._form not in EPOCH_UNITS and (self._form != ISO or _ISO_DAY.match(text)):
            for zone in (self._zone, NEW_YORK):
                try:
                    return [published(text, self._form, zone)]
                except Undated:
                    continue
        if code := _CODE.fullmatch(text):
            return self._code(code[1])
        return instants_of(text, self._zone, is_named_time=kind != NO)

    def _code(self, inner: str) -> Sequence[datetime]:
        """Read the argument of a call such as ISODate(…)."""
        if numbers := _NUMBERS.fullmatch(inner):
            inner = "-".join(part.zfill(2) for part in numbers.groups())
        if count := _COUNT.fullmatch(inner):
            before = len(self.instants)
            self._number(int(float(count[1])), WEAK)
            return self.instants[before:]
        return instants_of(inner, self._zone, is_named_time=True)


def is_up_to(text: str, as_of: datetime, zone: tzinfo | None, form: str = ISO) -> bool:
    """Return whether a text as a whole is a time up to an instant, such as a local time of the following day."""
    stated_times = _Strays(zone, frozenset(), form).stated(text.strip(), NO)
    return bool(stated_times) and max(stated_times) <= as_of


def names_later_day(text: str, day: date, *, periods: bool = False) -> bool:
    """Return whether a text names a day after this one, in any usual spelling. Of two readings the later one counts.

    periods: whether a year or a quarter after that of the day counts too.
    """
    text = plain(text)
    return any(named_day > day for named_day in days_in(text, day.year)) or (periods and names_later_period(text, day))
