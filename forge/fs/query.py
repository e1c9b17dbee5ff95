"""Filters of listings: `keyword`, `key:value`, `key>=N`, `key<=N`, `since:date`; quote values with spaces.

All words of a query must match. An unknown key is refused with an error that lists the valid keys.
"""

import re
import shlex
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from pitlake.clock import start_of_new_york_day
from pitlake.errors import BadInput

MOST_CHARACTERS = 500
SINCE = "since"
_WORD = re.compile(r"(?P<key>[A-Za-z_][A-Za-z0-9_]*)?(?P<sign>>=|<=|:)(?P<value>.*)", re.DOTALL)
_DAY = re.compile(r"^([0-9]{4}-[0-9]{2})$")
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")


@dataclass(frozen=True)
class Item:
    """The data that a query tests: a record's fields, its whole text, and when it was written."""

    fields: dict[str, Any]
    text: str
    written_at: datetime


Test = Callable[[Item], bool]


def parse_query(query: str, keys: Collection[str]) -> list[Test]:
    """Parse a query into tests. keys: the valid fields. Raises BadInput."""
    if len(query) > MOST_CHARACTERS:
        raise BadInput("query", f"must be text of at most {MOST_CHARACTERS} characters", _help(keys))
    try:
        lexer = shlex.shlex(query, posix=True, punctuation_chars=False)
        lexer.whitespace_split, lexer.quotes, lexer.escape, lexer.commenters = True, '"', "", ""
        words = list(lexer)
    except ValueError:
        raise BadInput("query", "a quote is not closed", 'write key:"two words"') from None
    return [_test(word, keys) for word in words]


def _test(word: str, keys: Collection[str]) -> Test:
    match = _WORD.fullmatch(word)
    if match is None:
        return lambda item: word.casefold() in item.text.casefold()
    key, sign, value = match["key"], match["sign"], match["value"]
    if key is None:
        raise BadInput("query", f"{word[:40]!r} has no field", _help(keys))
    if key == SINCE and sign == ":":
        try:
            start = start_of_new_york_day(date.fromisoformat(_DAY.sub(r"\1-01", value)))
        except ValueError:
            raise BadInput("query", f"since: {value[:40]!r} is not a date", "write since:2026-01-31") from None
        return lambda item: item.written_at >= start
    if key not in keys:
        raise BadInput("query", f"{key[:40]!r} is not a field here", _help(keys))
    if not value:
        raise BadInput("query", f"{key} has no value", f"write {key}{sign}… without a space")
    if sign == ":":
        return lambda item: _equals(item.fields.get(key), value)
    if not _NUMBER.fullmatch(value):
        raise BadInput("query", f"{key}: {value[:40]!r} is not a number", f"write {key}>=0.4")
    limit = float(value)
    return lambda item: (
        isinstance(field := item.fields.get(key), int | float) and (field >= limit if sign == ">=" else field <= limit)
    )


def _equals(field: Any, value: str) -> bool:
    if isinstance(field, tuple):
        return any(_equals(part, value) for part in field)
    if isinstance(field, int | float):
        try:
            return field == float(value)
        except ValueError:
            return False
    return field is not None and str(field).casefold() == value.casefold()


def _help(keys: Collection[str]) -> str:
    return f"the fields are {', '.join([*keys, SINCE])}; write key:value, key>=N or key<=N"
