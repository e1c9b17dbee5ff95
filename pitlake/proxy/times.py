"""When an item was published, and which times it states. `pitlake.times` reads each of them.

A date counts at its end. So does midnight, because many sources write dates as midnight.
"""

import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, timezone, tzinfo
from typing import Any

from pitlake.clock import NEW_YORK
from pitlake.errors import Unreadable
from pitlake.times import EPOCH_UNITS, ISO, RFC_2822, Unset, read

EPOCH_SECONDS, EPOCH_MILLISECONDS = "epoch", "epoch_ms"
# Sources write 1970-01-01 or an earlier date if they have no date.
EARLIEST = datetime(1970, 1, 3, tzinfo=timezone.utc)
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
    if form not in EPOCH_UNITS and not isinstance(spelled, str):
        raise Undated("not a text")
    try:
        moment = read(spelled, form, zone).latest
    except Unset:
        raise Undated("is a placeholder for a missing date") from None
    except Unreadable:
        raise Undated("not a publication time") from None
    if moment < EARLIEST:
        raise Undated("is a placeholder for a missing date")
    return moment


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
        form = RFC_2822 if _MAIL.fullmatch(text) else ISO
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
    for form in EPOCH_UNITS:
        with suppress(Undated):
            return published(count, form)
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
