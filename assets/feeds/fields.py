"""Parsers of providers' JSON.

They return strings, names, numbers and days, or raise Unreadable for a value of another form. Unlike in the graph,
numbers are numbers and missing values are null. assets.feeds.dating parses instants.
"""

import math
import re
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any, TypeVar
from urllib.parse import urlsplit

from assets.extraction import iso_day
from pitlake.errors import Unreadable

_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"[-+]?\d{1,15}", re.ASCII)

LARGEST = 10**15 - 1
Value = TypeVar("Value")


def text(value: Any) -> str | None:
    """Return prose unchanged; None when null or blank."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise Unreadable("no text")
    return value if value.strip() else None


def word(value: Any) -> str | None:
    """Return an identifier or name, stripped; None when null or blank."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise Unreadable("no text")
    return value.strip() or None


def required(parser: Callable[[Any], Value | None]) -> Callable[[Any], Value]:
    """Return a parser for a required field, which raises Unreadable if it is missing."""

    def parse(value: Any) -> Value:
        parsed_value = parser(value)
        if parsed_value is None:
            raise Unreadable("a value is required")
        return parsed_value

    return parse


required_word = required(word)


def names(value: Any) -> list[str]:
    """Return the names in a list of strings or of objects with a `name`, without duplicates; [] when null."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise Unreadable("no list of names")
    members = [required_word(member.get("name") if isinstance(member, dict) else member) for member in value]
    return list(dict.fromkeys(members))


def number(value: Any) -> float | None:
    """Return a finite number, given as a number or as text without separators; None when null or blank."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value.strip()):
            raise Unreadable("no number")
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Unreadable("no number")
    try:
        parsed_number = float(value)
    except OverflowError:
        raise Unreadable("no finite number") from None
    if not math.isfinite(parsed_number):
        raise Unreadable("no finite number")
    return parsed_number


def whole(value: Any) -> int:
    """Return a required whole number, given as a number or text."""
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST:
        raise Unreadable("no whole number")
    return value


def flag(value: Any) -> bool | None:
    """Return a boolean; None when null."""
    if value is not None and not isinstance(value, bool):
        raise Unreadable("no boolean")
    return value


def day(value: Any) -> date | None:
    """Return a day `2024-01-04`; None when null or blank."""
    spelled = word(value)
    return None if spelled is None else iso_day(spelled)


def host(url: str) -> str | None:
    """Return the host of an address in lower case, without www.; None when there is none."""
    try:
        hostname = urlsplit(url).hostname
    except ValueError:
        return None
    return hostname.removeprefix("www.") if hostname else None


def objects(value: Any) -> Iterable[Any]:
    """Return the members of a list. Raises Unreadable for anything else."""
    if not isinstance(value, list):
        raise Unreadable("no list")
    return value
