"""Frozen dataclasses that pydantic validates, and errors that describe the first invalid value in one line."""

import re
from collections.abc import Sequence
from dataclasses import field, fields
from types import NoneType
from typing import Any, TypeVar, cast, dataclass_transform, get_args, get_type_hints

from pydantic import AfterValidator, ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from pitlake.errors import BadInput, choice

Kind = TypeVar("Kind")

MOST_SHOWN = 60
_UNKNOWN_KEY = "unexpected_keyword_argument"
_SHAPES = {"dataclass_type": "a table", "dict_type": "a table", "tuple_type": "a list"}


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def validated_dataclass(cls: type[Kind]) -> type[Kind]:
    """Make a class a frozen dataclass whose values pydantic validates. Its schema is built at the first use."""
    config = ConfigDict(extra="forbid", defer_build=True)
    return cast("type[Kind]", dataclass(frozen=True, kw_only=True, config=config)(cls))


def pattern(regex: str, meaning: str, example: str) -> AfterValidator:
    """Return a validator of strings that must match a regular expression. Errors show the meaning and the example."""

    def check(text: str) -> str:
        if not re.fullmatch(regex, text):
            raise ValueError(f"{text[:MOST_SHOWN]!r} is not {meaning}; write one such as {example}")
        return text

    return AfterValidator(check)


def validate(kind: type[Kind], value: object, prefix: str = "") -> Kind:
    """Return a value as a `kind`. Raises BadInput for the first fault; prefix: precedes the name of its field."""
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as invalid:
        faults = invalid.errors(include_url=False)
    first = next((fault for fault in faults if fault["type"] == _UNKNOWN_KEY), faults[0])
    keys, fault = [key for key in first["loc"] if key != "[key]"], first["type"]
    labels = [str(key) if key != "" and str(key).isprintable() else repr(key) for key in keys]
    place = (prefix + ".".join(labels)).rstrip(".") or kind.__name__.lower()
    if fault == _UNKNOWN_KEY:
        raise BadInput(place, "is not a known key", choice(str(keys[-1]), _known_keys(kind, keys[:-1])))
    if fault == "missing":
        raise BadInput(place, "is missing", "add it")
    if fault == "value_error":
        raise BadInput(place, str(first["ctx"]["error"]))
    expected = f"should be {_SHAPES[fault]}" if fault in _SHAPES else first["msg"].partition(" ")[2]
    raise BadInput(place, f"is {repr(first['input'])[:MOST_SHOWN]}", f"it {expected}")


def _known_keys(kind: Any, place: Sequence[Any]) -> list[str]:
    """Return the keys that a kind has at a place."""
    if inner := get_args(kind):
        return _known_keys(inner[0], place) if NoneType in inner else _known_keys(inner[-1], place[1:])
    if place:
        return _known_keys(get_type_hints(kind)[place[0]], place[1:])
    return [key.name for key in fields(kind) if key.init]
