"""Parsers for the graph's formats: numbers with separators, '1'/'0', "null", JSON in strings, three timestamp forms.

Each parser returns a typed value, returns None if the property is absent, or raises `Unreadable` if the value does not
have the form of its field. Nothing is guessed.
"""

import html
import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timezone
from functools import lru_cache
from typing import Any

from assets.extraction import day_of, iso_day
from pitlake import outside_json
from pitlake.errors import Unreadable
from pitlake.times import stated_instant

_NUMBER = re.compile(r"[-+]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_ABSENT_WORDS = frozenset({"", "null", "nan", "none"})
_LONGEST_ABSENT = 4
_FLAGS = {"1": True, "0": False, "true": True, "false": False}
_CIK_DIGITS = 10
# No article, filing or call is older. The year 1 and the Unix epoch are values of unset fields. Bars and exchange days
# may be older, because the day that they name confirms their close.
_FIRST_PUBLISHED = datetime(1990, 1, 1, tzinfo=timezone.utc)
TEXTS_REMEMBERED = 16_384


def is_absent(value: Any) -> bool:
    """Return whether a property is empty: missing, blank, NaN, or the upstream's word for a missing value."""
    if value is None:
        return True
    if isinstance(value, str):
        stripped = value.strip()
        return len(stripped) <= _LONGEST_ABSENT and stripped.lower() in _ABSENT_WORDS
    return isinstance(value, float) and math.isnan(value)


def text(value: Any) -> str | None:
    """Return prose unchanged, None when blank. The word "null" is kept, because it may be a headline."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def word(value: Any) -> str | None:
    """Return an identifier, name or enumeration value, stripped; None for any of the upstream's missing values."""
    return None if is_absent(value) else str(value).strip()


def number(value: Any) -> float | None:
    """Return a finite number, thousands separators removed ("81,035,171,840"); None when absent."""
    if type(value) is float and math.isfinite(value):
        return value
    if is_absent(value):
        return None
    if isinstance(value, str):
        value = _plain_number(value)
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Unreadable("no number")
    try:
        parsed_number = float(value)
    except OverflowError:
        raise Unreadable("no finite number") from None
    if not math.isfinite(parsed_number):
        raise Unreadable("no finite number")
    return parsed_number


def plain_number(value: Any) -> str | None:
    """Return a number's digits without separators, so that no digit is lost to rounding; None when absent."""
    if is_absent(value):
        return None
    number(value)
    return _plain_number(value) if isinstance(value, str) else str(value)


def _plain_number(spelled: str) -> str:
    stripped = spelled.strip()
    if not _NUMBER.fullmatch(stripped):
        raise Unreadable("no number")
    return stripped.replace(",", "")


def node(label: str, identifier: Any) -> str:
    """Return the evidence of a node. Raises Unreadable without an id, because the node could not be found again."""
    if is_absent(identifier):
        raise Unreadable("no id")
    return f"neo4j:{label}:{identifier}"


def whole(value: Any) -> int | None:
    """Return a whole number ("2,025", "3", 3.0); None when absent."""
    parsed_number = number(value)
    if parsed_number is None:
        return None
    if not parsed_number.is_integer() or abs(parsed_number) >= 2**53:
        raise Unreadable("no whole number")
    return int(parsed_number)


def flag(value: Any) -> bool | None:
    """Return a boolean, real or written as "1"/"0"; None when absent."""
    if isinstance(value, bool):
        return value
    if is_absent(value):
        return None
    try:
        return _FLAGS[str(value).strip().lower()]
    except KeyError:
        raise Unreadable("no boolean") from None


def instant(value: Any) -> datetime | None:
    """Return an instant in any of the graph's formats, as aware UTC; None when absent.

    Nanoseconds are rounded up to the next microsecond, so that no row is early.

    Accepted are `2024-01-04T13:48:33-05:00`, `2024-01-04 16:00:00-0500` and mixtures of the two. A date alone, a time
    without an offset and an instant in the calendar's first or last year are unreadable. So is an offset used nowhere
    on Earth, which could escape the query windows with their margin of one day.
    """
    return None if value is None else _instant(str(value))


@lru_cache(maxsize=TEXTS_REMEMBERED)  # All facts of a filing and all bars of a day state the same instant.
def _instant(value: str) -> datetime | None:
    return None if is_absent(value) else stated_instant(value)


def published(value: Any) -> datetime | None:
    """Return the `instant` at which an article, a filing or a call was published, 1990 or later."""
    moment = instant(value)
    if moment is not None and moment < _FIRST_PUBLISHED:
        raise Unreadable("no instant (implausible)")
    return moment


def day(value: Any) -> date | None:
    """Return a calendar day `2024-01-04`; None when absent."""
    return None if is_absent(value) else iso_day(str(value).strip())


def leading_day(value: Any) -> date | None:
    """Return the day at the start of a text, under which its record is filed, or None. Never raises."""
    try:
        parsed_day = iso_day(str(value).strip()[:10])
    except Unreadable:
        return None
    return None if parsed_day.year == date.max.year else parsed_day  # The calendar's last day has no end.


def session_day(moment: datetime | None, claimed: date | None) -> bool:
    """Return whether an instant is on the New York day that a Date node states for it."""
    return moment is not None and claimed is not None and day_of(moment) == claimed


def canonical_json(value: Any, kind: type | tuple[type, ...] = (dict, list)) -> str | None:
    """Return JSON in one format (no spaces, raw Unicode, NaN as null), members in stored order; None when absent.

    The order of members is kept, because it is the reading order of statements. Raises Unreadable for text that is not
    JSON of `kind`, that names a member twice, or that contains a number that is not finite.
    """
    if is_absent(value):
        return None
    if isinstance(value, str):
        value = _json(value)
    if not isinstance(value, kind):
        raise Unreadable("JSON of another kind")
    try:
        return _CANONICAL.encode(value)
    except (ValueError, TypeError, RecursionError):
        raise Unreadable("no JSON") from None


def json_object(value: Any) -> str | None:
    return canonical_json(value, dict)


def json_array(value: Any) -> str | None:
    return canonical_json(value, list)


def json_or_text(value: Any) -> str | None:
    """Return canonical JSON. A text that can't be parsed becomes a JSON string, so that the record stays usable."""
    try:
        return canonical_json(value)
    except Unreadable:
        return _CANONICAL.encode(text(value))


def mapping(value: Any) -> Mapping[str, Any]:
    """Return the members of a JSON object; {} when absent."""
    encoded = json_object(value)
    return json.loads(encoded) if encoded is not None else {}


def strings(value: Any) -> list[str] | None:
    """Return a list of strings from a list, JSON, or a single string, without blank members; None when absent."""
    if is_absent(value):
        return None
    return [*_strings(value)] if isinstance(value, str) else [*_texts_in(value)]


def keywords(value: Any) -> list[str] | None:
    """Return `strings`, but split plain text at commas."""
    members = strings(value)
    return [word.strip() for word in value.split(",") if word.strip()] if members == [str(value).strip()] else members


@lru_cache(maxsize=TEXTS_REMEMBERED)  # There are few different authors, channels and items, and each occurs very often.
def _strings(spelled: str) -> tuple[str, ...]:
    members = readable(_json, spelled)
    return _texts_in(members) if isinstance(members, list) else (spelled.strip(),)


def _texts_in(json_value: Any) -> tuple[str, ...]:
    if not isinstance(json_value, list):
        raise Unreadable("not a list of texts")
    members = (text(member) for member in json_value)
    return tuple(member.strip() for member in members if member is not None)


def labels(value: Any) -> list[str] | None:
    """Return `keywords` with HTML entities resolved ("Software &amp; Apps")."""
    names = keywords(value)
    return None if names is None else [html.unescape(member) for member in names]


def first_number(value: Any) -> float | None:
    """Return `number` of a property, or of its first element if it is a list; None for an empty list."""
    if isinstance(value, list):
        return number(value[0]) if value else None
    return number(value)


def cik(value: Any) -> str | None:
    """Return a Central Index Key in its ten-digit form; None when absent."""
    spelled = word(value)
    if spelled is None:
        return None
    if not (spelled.isascii() and spelled.isdigit()) or len(spelled) > _CIK_DIGITS:
        raise Unreadable("no CIK")
    return spelled.zfill(_CIK_DIGITS)


def readable(parser: Callable[[Any], Any], value: Any) -> Any:
    """Return the parsed value, or None if it is unreadable, for fields whose absence creates a gap anyway."""
    try:
        return parser(value)
    except Unreadable:
        return None


def _json(spelled: str) -> Any:
    try:
        return outside_json.mended(_DECODER.decode(spelled), spelled)
    except (ValueError, RecursionError):
        raise Unreadable("no JSON") from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member is named twice")
    return members


def _constant(name: str) -> None:
    if name != "NaN":
        raise ValueError("an infinite number is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_constant)
_CANONICAL = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
