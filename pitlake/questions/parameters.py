"""The types of query parameters: the values that a caller may pass, and the single form that is bound into the SQL.

A value is a Python object or a command-line argument. It becomes a string, a number or a list, which other processes
receive unchanged. No SQL runs here.
"""

import json
import math
from collections.abc import Callable, Collection
from datetime import date, datetime
from typing import Any

from pitlake.clock import instant, iso, new_york_day, start_of_new_york_day
from pitlake.errors import BadInput, choice
from pitlake.questions import line_items

LARGEST_INT = 2**31 - 1


def spell(type_name: str, field: str, value: Any) -> Any:
    """Return a caller's value in the bound form. Raises BadInput with the field and what to write."""
    return TYPES[type_name](field, value)


def _text(field: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadInput(field, "blank, or not text", "give some text")
    if "\x00" in value:
        raise BadInput(field, "contains a NUL character", "give plain text")
    return value.strip()


def _ticker(field: str, value: Any) -> str:
    return _text(field, value).upper()


def _texts(field: str, value: Any) -> list[str]:
    if isinstance(value, str):
        value = json.loads(value) if value.lstrip().startswith("[") and _is_json(value) else value.split(",")
    if not isinstance(value, list | tuple) or not value:
        raise BadInput(field, "not a list of texts", "give one or more, separated by commas")
    return [_text(field, item) for item in value]


def _forms(field: str, value: Any) -> str:
    if value not in FORMS:
        raise BadInput(field, f"{value!r} is unknown", f"give {', '.join(FORMS)}")
    return str(value)


def _member(field: str, text: str, names: Collection[str]) -> str:
    if text not in names:
        raise BadInput(field, f"there is no {text!r}", choice(text, names))
    return text


def _int(field: str, value: Any) -> int:
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            raise BadInput(field, "not a whole number", "give a number such as 20") from None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_INT:
        raise BadInput(field, "not a whole number above 0", "give a number such as 20")
    return value


def _day_or_none(value: Any) -> date | None:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if not isinstance(value, str) or len(value) != len("YYYY-MM-DD"):
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None


def _moment(field: str, value: Any) -> str:
    """Parse an instant; a date means its start in New York."""
    day = _day_or_none(value)
    return iso(start_of_new_york_day(day) if day else instant(value, field))


def _day(field: str, value: Any) -> str:
    """Parse a date; an instant means its New York day."""
    return (_day_or_none(value) or new_york_day(instant(value, field))).isoformat()


def _vector(field: str, value: Any) -> list[float]:
    if isinstance(value, str) and _is_json(value):
        value = json.loads(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, list | tuple) or not value or not all(_is_finite(number) for number in value):
        raise BadInput(field, "not a list of finite numbers", "give the embedding as a JSON array")
    if not any(value):
        raise BadInput(field, "every number is 0, so nothing is near it", "give the embedding of a text")
    return [float(number) for number in value]


def _pairs(field: str, value: Any) -> str:
    """Parse (ticker, instant) pairs into JSON, with instants in the bound format."""
    if isinstance(value, str):
        if not _is_json(value):
            raise BadInput(field, "not JSON", PAIRS_FORM)
        value = json.loads(value)
    if not isinstance(value, list | tuple) or not value:
        raise BadInput(field, "not a list of pairs", PAIRS_FORM)
    pairs = []
    for entry in value:
        is_named = isinstance(entry, dict) and set(entry) == {"ticker", "at"}
        pair = (entry["ticker"], entry["at"]) if is_named else entry
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise BadInput(field, "an entry is not a pair", PAIRS_FORM)
        pairs.append({"ticker": _ticker(field, pair[0]), "at": iso(instant(pair[1], field))})
    return json.dumps(pairs)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_finite(number: Any) -> bool:
    try:
        return isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
    except OverflowError:  # a whole number too large for a float
        return False


PAIRS_FORM = 'give [{"ticker": "QBG", "at": "2024-02-15T16:00:00-05:00"}]'

FORMS = ("periodic_first", "periodic", "any")
"""The figures to use: periodic reports before others, only periodic reports, or the newest of any form."""

TYPES: dict[str, Callable[[str, Any], Any]] = {
    "ticker": _ticker,
    "text": _text,
    "texts": _texts,
    "int": _int,
    "forms": _forms,
    "items": lambda field, value: [_member(field, item, line_items.kinds()) for item in _texts(field, value)],
    "fields": lambda field, value: [_member(field, item, line_items.fields()) for item in _texts(field, value)],
    "spans": lambda field, value: [_member(field, item, line_items.SPANS) for item in _texts(field, value)],
    "moment": _moment,
    "day": _day,
    "vector": _vector,
    "pairs": _pairs,
}
