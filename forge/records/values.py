"""Writes field values on one line and parses them, by the field's type. Nothing is guessed.

Texts are written as they are, numbers as in JSON, instants and days in ISO 8601, lists of names with commas, structures
as JSON. A missing value is an empty line.
"""

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from datetime import date, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from pitlake import outside_json
from pitlake.clock import instant, iso
from pitlake.errors import BadInput

PERCENT = "percent of capital"
MOST_TEXT = 2_000
MOST_BODY = 200_000
TOO_LARGE = 10**18
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*")
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_UNSTORED = {"Cc", "Cs", "Zl", "Zp"}


class Bounds(NamedTuple):
    """The smallest and the largest allowed number, inclusive, and its unit."""

    low: float = -math.inf
    high: float = math.inf
    unit: str = ""


class Spec(NamedTuple):
    """A field's type: base type, words of an enumeration, bounds, whether it may be missing."""

    base: Any
    words: tuple[str, ...] = ()
    bounds: Bounds = Bounds()
    optional: bool = False
    required: bool = False


def specs(kind: Any) -> dict[str, Spec]:
    """Return the fields of a record's dataclass, in order, without id and body."""
    return _specs(kind)


@cache
def _specs(kind: Any) -> dict[str, Spec]:
    hints = get_type_hints(kind, include_extras=True)
    return {
        field.name: spec_of(hints[field.name])._replace(
            required=field.default is MISSING and field.default_factory is MISSING
        )
        for field in fields(kind)
        if field.name not in ("id", "body")
    }


def spec_of(hint: Any) -> Spec:
    if get_origin(hint) is UnionType or (get_args(hint) and NoneType in get_args(hint)):
        inner = next(kind for kind in get_args(hint) if kind is not NoneType)
        return spec_of(inner)._replace(optional=True)
    if get_origin(hint) is Annotated:
        base, bounds = get_args(hint)[:2]
        return spec_of(base)._replace(bounds=bounds)
    if get_origin(hint) is Literal:
        return Spec(str, words=get_args(hint))
    return Spec(hint)


def read(spec: Spec, text: str) -> Any:
    """Parse a field's value. Raises ValueError saying what is wrong."""
    if not text:
        if spec.optional:
            return None
        if get_origin(spec.base) is tuple:
            return ()
        if spec.base is str and not spec.words and not spec.required:
            return ""
        raise ValueError("is empty")
    value = _read(spec, text)
    check(spec, value)
    return value


def _read(spec: Spec, text: str) -> Any:
    base = spec.base
    if base is str:
        return text
    if base in (int, float):
        if not (_WHOLE if base is int else _NUMBER).fullmatch(text):
            raise ValueError(f"{_quote(text)} is not a number")
        return base(text)
    if base is datetime:
        return _instant(text)
    if base is date:
        return _day(text)
    if base == tuple[str, ...]:
        return tuple(part.strip() for part in text.split(","))
    return build(base, load_json(text))


def write(spec: Spec, value: Any) -> str:
    """Format a field's value."""
    if value is None or value == ():
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int | float):
        return repr(value)
    if spec.base == tuple[str, ...]:
        return ", ".join(value)
    return json.dumps(value, default=_plain, ensure_ascii=False, sort_keys=isinstance(value, Mapping))


def check(spec: Spec, value: Any) -> None:
    """Raise ValueError unless the value is valid for its field."""
    if value is None and spec.optional:
        return
    if spec.words and value not in spec.words:
        raise ValueError(f"{_quote(value)} is not one of {', '.join(spec.words)}")
    if spec.base is str:
        one_line(value)
    elif spec.base in (int, float):
        _number(spec, value)
    elif spec.base == tuple[str, ...]:
        _names(value)
    elif spec.base is datetime:
        instant(value)
    elif spec.base is not date and build(spec.base, json.loads(write(spec, value) or "[]")) != value:
        raise ValueError("does not survive writing and reading")


def one_line(text: Any) -> None:
    """Raise ValueError unless the text fits on one line."""
    if not isinstance(text, str):
        raise ValueError("is not text")  # noqa: TRY004 - what a record refuses is one error
    if len(text) > MOST_TEXT:
        raise ValueError(f"is longer than {MOST_TEXT:,} characters; move it to the body")
    if any(unicodedata.category(letter) in _UNSTORED for letter in text):
        raise ValueError("has a control character or a line break")
    if text != text.strip():
        raise ValueError("starts or ends with a space")


def _number(spec: Spec, value: Any) -> None:
    kind = int if spec.base is int else int | float
    if isinstance(value, bool) or not isinstance(value, kind) or not abs(value) < TOO_LARGE:
        raise ValueError(f"{_quote(value)} is not a number")
    low, high, _ = spec.bounds
    if not low <= value <= high:
        raise ValueError(f"{value} is not from {low:g} to {high:g}")


def _names(values: Any) -> None:
    for name in values:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(f"{_quote(name)} is not a name; separate names by commas")


def _instant(text: str) -> datetime:
    try:
        return instant(text)
    except BadInput as refused:
        raise ValueError(refused.problem) from None


def _day(text: str) -> date:
    if not _DAY.fullmatch(text):
        raise ValueError(f"{_quote(text)} is not a day such as 2024-02-15")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text} is not a day of the calendar") from None


def load_json(text: str) -> Any:
    """Parse JSON without repeated keys. Raises ValueError."""
    try:
        return outside_json.loads(text, object_pairs_hook=_unrepeated, parse_constant=_no_constant)
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"is not JSON: {str(problem)[:80]}") from None


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key appears twice")
    return dict(pairs)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def build(hint: Any, data: Any) -> Any:
    """Convert JSON data to a type. Raises ValueError."""
    spec = spec_of(hint)
    if data is None and spec.optional:
        return None
    if is_dataclass(spec.base):
        return _part(spec.base, data)
    if get_origin(spec.base) is tuple:
        if not isinstance(data, list):
            raise ValueError("is not a list")
        return tuple(build(get_args(spec.base)[0], item) for item in data)
    if get_origin(spec.base) is dict:
        if not isinstance(data, dict):
            raise ValueError("is not an object")
        return {name: build(get_args(spec.base)[1], item) for name, item in data.items()}
    if spec.base is Any:
        return data
    if spec.base is date:
        return _day(data if isinstance(data, str) else "")
    if spec.base is float and isinstance(data, int) and not isinstance(data, bool):
        data = float(data)
    check(spec, data)
    return data


def _part(kind: Any, data: Any) -> Any:
    if not isinstance(data, dict):
        raise ValueError("is not an object")  # noqa: TRY004
    field_specs = specs(kind)
    if unknown := sorted(set(data) - set(field_specs)):
        raise ValueError(f"{_quote(unknown[0])} is unknown; choose from {', '.join(field_specs)}")
    if missing := [name for name, spec in field_specs.items() if spec.required and name not in data]:
        raise ValueError(f"{missing[0]} is missing")
    hints = get_type_hints(kind, include_extras=True)
    return kind(**{name: build(hints[name], item) for name, item in data.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    defaults = {field.name: field.default for field in fields(value)}
    return {name: part for name, part in asdict(value).items() if defaults[name] is MISSING or part != defaults[name]}


def _quote(value: Any) -> str:
    return repr(value)[:60]
