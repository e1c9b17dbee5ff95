"""The types of a record's fields: their bounds, their allowed words, and the formats that are accepted for values.

An agent or the PM may write `60%` for a share, `$1,000.50`, `28 June 2024`, `3 months`, a word in any case, or a
structure as JSON or YAML, if only one meaning is possible. A stored record has only one format: strings unchanged,
numbers as in JSON, instants and days in ISO 8601, names with commas between them, and structures as JSON.
"""

import calendar
import json
import math
import re
import unicodedata
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import yaml
from pydantic import BeforeValidator, ValidationInfo

from pitlake import outside_json
from pitlake.clock import instant, start_of_new_york_day
from pitlake.errors import BadInput

PERCENT = "percent of capital"
MOST_TEXT = 2_000
TOO_LARGE = 10**18
SMALL = 0.2  # a smaller percentage may have been meant as a fraction
EMPTY = frozenset({"", "~", "null", "none", "n/a", "[]"})
MINUS = "\N{MINUS SIGN}"
AND = " and "
ALIASES = {
    "buy": "long", "sell": "short", "prob": "probability", "p": "probability", "deadline": "by", "scenario": "name",
}  # fmt: skip
"""Words and field names that models write, and their meanings."""
_QUOTED = re.compile(r"""(?P<quote>["'])(?P<text>.*)(?P=quote)(?:\s+#.*)?""")
_CURLY = str.maketrans({"\N{LEFT DOUBLE QUOTATION MARK}": '"', "\N{RIGHT DOUBLE QUOTATION MARK}": '"'})
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?P<dollar>\$?)(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+)(?P<power>[eE][+-]?\d{1,3})?"
    r"\s*(?P<percent>%|percent|pct)?"
)
_RULE = re.compile(r"(?P<column>[a-z][a-z0-9_]*)\s*(?P<sign><=|>=|==|!=|<|>|=|≤|≥)\s*(?P<value>.+)")
_SIGNS = {"=": "==", "≤": "<=", "≥": ">="}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DAY_FORMS = ("%Y-%m-%d", "%Y/%m/%d", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%B %d %Y", "%b %d %Y")
_DURATION = re.compile(r"(?:in )?([1-9][0-9]{0,2}) ?(d|day|w|week|m|month|y|year)s?")
_LEVEL = re.compile(r"(\$?[0-9][0-9,]*(?:\.[0-9]+)?)\s*(?:USD|\([^0-9()]*[0-9]+(?:\.[0-9]+)?\s*%[^0-9()]*\))")
_TICKER = re.compile(r"\$?([A-Za-z][A-Za-z0-9.\-]{0,14})")
_THIRTY_SECONDS = re.compile(r"(3[2-9]|[4-9][0-9]|[0-9]{3})-([0-2][0-9]|3[01])(\+?)")
_UNSTORED = {"Cc", "Cs", "Zl", "Zp"}


@dataclass
class Reading:
    """A mode of reading values. exact: accept only the stored format. today: the first day of durations. notes:
    interpretations that the writer should check.
    """

    exact: bool = False
    today: date | None = None
    notes: list[str] = field(default_factory=list)

    def note(self, name: str, text: Any, value: Any) -> None:
        """Note how a value was interpreted."""
        self.notes.append(f"{name} {str(text)!r} as {value}")


STORED = Reading(exact=True)


Read = Callable[[Any, Any, Reading, str], Any]
"""Reads a field, given its type, the value, the mode of reading and the name. Raises ValueError with the problem."""


@dataclass(frozen=True)
class Spelling:
    """A mark on a type: `read` converts formats before pydantic validates the value; `schema` changes its schema."""

    read: Read
    schema: Callable[[dict[str, Any]], dict[str, Any]] = dict

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        def read(value: Any, info: ValidationInfo[Any]) -> Any:
            return self.read(source, value, info.context or STORED, info.field_name or "")

        return BeforeValidator(read).__get_pydantic_core_schema__(source, handler)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return self.schema(handler(schema))


def Bounds(low: float = -math.inf, high: float = math.inf, unit: str = "") -> Spelling:  # noqa: N802 - marks a type
    """Return the mark of a number with its smallest and largest allowed values, inclusive, and its unit."""
    limits = {"minimum": low, "maximum": high, "description": unit and f"in {unit}"}
    bounds = {name: value for name, value in limits.items() if value not in ("", math.inf, -math.inf)}

    def read(kind: Any, value: Any, reading: Reading, name: str) -> Any:
        spelling = value
        if isinstance(value, str) and not reading.exact:
            value = (int if kind is int and value.strip().isdigit() else float)(read_number(value, low, high, unit))
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < TOO_LARGE:
            raise ValueError(f"{quote(spelling)} is not a number")
        if name.endswith("confidence") and not reading.exact and str(spelling).strip() == "1":
            raise ValueError("1 may be 1 % or 100 %; give 0.01 or 1.0")
        # A whole number is in percent. Except for probabilities, which sum to 1, 2 to 10 may mean tenths.
        least = 2 if name == "probability" else 11
        if not reading.exact and (low, high) == (0, 1) and least <= value <= 100 and value == int(value):
            value = value / 100
            reading.note(name, spelling, f"{value:g}")
        if not reading.exact and unit == PERCENT and 0 < abs(value) < SMALL:
            reading.note(name, spelling, f"{value:g} % of capital, not {value * 100:g} %")
        if not low <= value <= high:
            bounds = f"from {low:g} to {high:g}" if high < math.inf else f"{low:g} or more"
            raise ValueError(f"{value:g} is not {bounds}")
        return value

    return Spelling(read, lambda schema: schema | bounds)


def _read_line(_kind: Any, value: Any, reading: Reading, _name: str) -> Any:
    value = str(value) if isinstance(value, int | float) and not reading.exact else value
    one_line(value)
    return value


def _read_word(kind: Any, value: Any, reading: Reading, name: str) -> Any:
    words = get_args(kind)
    word = key(value) if isinstance(value, str) and not reading.exact else value
    if word not in words and not reading.exact:
        longer_words = [each for each in words if each.startswith(f"{word}_")]
        word = longer_words[0] if len(longer_words) == 1 else ALIASES.get(word, word)
        if word in words:
            reading.note(name, value, word)
    if word not in words:
        raise ValueError(f"{quote(value)} is not one of {', '.join(words)}")
    return word


def _read_day(_kind: Any, value: Any, reading: Reading, name: str) -> Any:
    if isinstance(value, date):
        return value
    if not isinstance(value, str):
        raise ValueError(f"{quote(value)} is not a date such as 2024-02-15")  # noqa: TRY004 - a fault of the record
    duration = _DURATION.fullmatch(value.strip().casefold())
    if duration and reading.today and not reading.exact:
        day = after(reading.today, int(duration[1]), duration[2][0])
        reading.note(name, value, day)
        return day
    return read_day(value, _DAY_FORMS[: 1 if reading.exact else None])


def _read_instant(_kind: Any, value: Any, reading: Reading, _name: str) -> Any:
    if isinstance(value, str) and not reading.exact:
        with suppress(ValueError):
            return start_of_new_york_day(read_day(value))
    try:
        return instant(value)
    except (BadInput, AttributeError) as fault:
        raise ValueError(getattr(fault, "problem", f"{quote(value)} is not an instant")) from None


def _read_names(_kind: Any, value: Any, reading: Reading, _name: str) -> Any:
    if isinstance(value, str):
        value = structure(value) if value[:1] in "[-{" and not reading.exact else value
        value = [unquote(part.strip()) for part in value.split(",")] if isinstance(value, str) else value
    if isinstance(value, dict):
        value = [name if item is None else f"{name}: {item}" for name, item in value.items()]
    for item in value if isinstance(value, list | tuple) else [None]:
        if not isinstance(item, str) or not _NAME.fullmatch(item):
            raise ValueError(f"{quote(item)} is not a name; separate names by commas")
    return tuple(value)


def _read_pairs(_kind: Any, value: Any, reading: Reading, _name: str) -> Any:
    """Return names with values, from a mapping or from a list of pairs, which a provider can enforce."""
    if reading.exact:
        return value
    value = structure(value) if isinstance(value, str) else value
    if isinstance(value, list | tuple) and all(isinstance(item, dict) for item in value):
        pairs = [{item["name"]: item["value"]} if {*item} == {"name", "value"} else item for item in value]
        value = unique_names((name, item) for pair in pairs for name, item in pair.items())
    return value


def _pairs_schema(schema: dict[str, Any]) -> dict[str, Any]:
    value = schema.get("additionalProperties")
    if not isinstance(value, dict):
        texts = {"type": "array", "items": {"type": "string"}}
        value = {"anyOf": [{"type": "string"}, {"type": "number"}, texts]}
    pair = {"name": {"type": "string"}, "value": value}
    return {"type": "array", "items": {"type": "object", "properties": pair, "required": [*pair]}}


def _read_rule(_kind: Any, value: Any, reading: Reading, _name: str) -> Any:
    if not isinstance(value, str) or reading.exact:
        return value
    conditions = []
    for text in re.split(r"\s+and\s+|\s*&&\s*", value.strip()):
        match = _RULE.fullmatch(text.strip())
        if match is None:
            conditions.append(text)
            continue
        literal = match["value"].strip()
        try:
            literal = f"'{unquote(literal)}'" if _QUOTED.fullmatch(literal) else read_number(literal)
        except ValueError:
            conditions.append(text)
            continue
        conditions.append(f"{match['column']} {_SIGNS.get(match['sign'], match['sign'])} {literal}")
    return AND.join(conditions)


def _read_level(_kind: Any, value: Any, reading: Reading, name: str) -> Any:
    """Return a price, or text about a price: `120 (+20%)` becomes 120, and 120-16 in 32nds becomes 120.5."""
    one_line(value := str(value) if isinstance(value, int | float) else value)
    level, decimal = _LEVEL.fullmatch(value), price_in_32nds(value)
    if reading.exact or not (level or decimal):
        if not reading.exact and re.search("[0-9]", value) and not _NUMBER.fullmatch(value):
            reading.note(name, value, "words, which code can't follow")
        return value
    text = level[1] if level else f"{decimal:.10g}"
    reading.note(name, value, text)
    return text


def _read_ticker(_kind: Any, value: Any, reading: Reading, name: str) -> Any:
    """Return an instrument as positions write it: `qbg` and `$QBG` become QBG."""
    one_line(value)
    match = _TICKER.fullmatch(value)
    if reading.exact or match is None or match[1].upper() == value:
        return value
    reading.note(name, value, match[1].upper())
    return match[1].upper()


def _read_parts(kind: Any, value: Any, reading: Reading, _name: str) -> Any:
    """Return a structure or a list of structures, from JSON, from YAML, or from a mapping of names to structures."""
    if reading.exact:
        return value
    value = structure(value) if isinstance(value, str) else value
    if is_dataclass(kind):
        return _part(kind, value)
    inner = get_args(kind)[0]
    if isinstance(value, dict) and not {_field_name(inner, name) for name in value} & set(_names(inner)):
        value = [{name: item} for name, item in value.items()]
    return [_part(inner, item) for item in (value if isinstance(value, list | tuple) else [value])]


def _part(kind: Any, value: Any) -> Any:
    """Return a structure's fields, from a mapping, a pair of name and rest, or the text of its first field."""
    first, *others = (each.name for each in fields(kind) if each.default is each.default_factory is MISSING)
    if isinstance(value, str | int | float) and not others:
        return {first: str(value)}
    if not isinstance(value, dict):
        return value
    by_name = unique_names((_field_name(kind, name), item) for name, item in value.items())
    if len(by_name) > 1 or set(by_name) & set(_names(kind)):
        return by_name
    for name, item in value.items():
        if isinstance(item, dict):
            return {first: str(name), **_part(kind, item)}
        return {first: str(name), others[0]: item} if others else {first: f"{name}: {item}"}
    return by_name


def _names(kind: Any) -> list[str]:
    return [each.name for each in fields(kind)]


def _field_name(kind: Any, name: Any) -> str:
    word = key(name)
    return word if word in _names(kind) else ALIASES.get(word, word)


_READERS: dict[Any, Spelling] = {
    str: Spelling(_read_line),
    float: Bounds(),
    date: Spelling(_read_day),
    datetime: Spelling(_read_instant),
    tuple[str, ...]: Spelling(_read_names),
    Literal: Spelling(_read_word),
    dict: Spelling(_read_pairs, _pairs_schema),
    tuple: Spelling(_read_parts),
}
Rule = Annotated[str, Spelling(_read_rule)]
Level = Annotated[str, Spelling(_read_level)]
Ticker = Annotated[str, Spelling(_read_ticker)]


def with_spellings(hint: Any) -> Any:
    """Return a field's type, marked so that all its formats are accepted."""
    origin, parts = get_origin(hint), get_args(hint)
    if NoneType in parts:
        return with_spellings(next(part for part in parts if part is not NoneType)) | None
    if origin is Annotated:
        is_marked = any(isinstance(mark, Spelling) for mark in parts[1:])
        return hint if is_marked else Annotated[(with_spellings(parts[0]), *parts[1:])]
    mark = _READERS.get(hint) or _READERS.get(origin) or (_READERS[tuple] if is_dataclass(hint) else None)
    return Annotated[hint, mark] if mark else hint


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


def read_number(text: str, low: float = -math.inf, high: float = math.inf, unit: str = "") -> str:
    """Return the canonical form of a number. Raises ValueError."""
    match = _NUMBER.fullmatch(text.strip().replace(MINUS, "-"))
    if match is None:
        raise ValueError(f"{text[:60]!r} is not a number")
    if match["dollar"] and (unit or (low, high) == (0, 1)):
        raise ValueError(f"{text[:60]!r} is a price, which this number is not")
    number = Decimal(match["sign"] + match["digits"].replace(",", "") + (match["power"] or ""))
    if not match["percent"] or unit == PERCENT:
        return str(number)
    if (low, high) != (0, 1):
        raise ValueError(f"{text[:60]!r} is in percent, which this number is not")
    if not low <= number / 100 <= high:
        raise ValueError(f"{text[:60]!r} is not from {low:g} to {high:g}")
    return str(number / 100)


def read_day(text: str, forms: Iterable[str] = _DAY_FORMS) -> date:
    """Parse a day. Raises ValueError."""
    for form in forms if not _DAY.fullmatch(text.strip()) else _DAY_FORMS[:1]:
        try:
            return datetime.strptime(text.strip(), form).date()  # noqa: DTZ007 - a day has no zone
        except ValueError:
            continue
    raise ValueError(f"{text[:60]!r} is not a date such as 2024-02-15")


def after(day: date, number: int, unit: str) -> date:
    """Return a day plus a number of days, weeks, months or years (unit d, w, m or y)."""
    if unit in "dw":
        return day + timedelta(days=number * (7 if unit == "w" else 1))
    months = day.month - 1 + number * (12 if unit == "y" else 1)
    year, month = day.year + months // 12, months % 12 + 1
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def price_in_32nds(text: str) -> float | None:
    """Return a price such as 112-16 or 112-16+ in decimals; None for any other text, and for a range such as 10-15."""
    match = _THIRTY_SECONDS.fullmatch(text)
    return int(match[1]) + int(match[2]) / 32 + len(match[3]) / 64 if match else None


def unquote(text: str) -> str:
    """Return a text without surrounding quotes, and without the comment after the quotes."""
    match = _QUOTED.fullmatch(text.translate(_CURLY))
    if match is None or match["quote"] in match["text"].replace(f"\\{match['quote']}", ""):
        return text
    with suppress(ValueError):
        return str(json.loads(f'"{match["text"]}"')) if match["quote"] == '"' else match["text"]
    return match["text"]


def key(name: Any) -> str:
    """Return a name or a word in lower case, with underscores for blanks and hyphens."""
    return re.sub(r"[ -]+", "_", str(name).strip().casefold())


def quote(value: Any) -> str:
    return repr(value)[:60]


def load_json(text: str) -> Any:
    """Parse JSON without repeated keys. Raises ValueError."""
    try:
        return outside_json.loads(text, object_pairs_hook=unique_names, parse_constant=_no_constant)
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"is not JSON: {str(problem)[:80]}") from None


def structure(text: str) -> Any:
    """Parse JSON, or YAML, whose outer braces may be missing. Raises ValueError."""
    readers: tuple[Callable[[str], Any], ...] = (load_json, load_yaml, lambda part: load_yaml(f"{{{part}}}"))
    for load in readers:
        try:
            return load(text)
        except (ValueError, yaml.YAMLError, RecursionError):
            continue
    raise ValueError("is neither JSON nor YAML")


def unique_names(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return names with their values. Raises ValueError if a name appears twice."""
    by_name: dict[Any, Any] = {}
    for name, value in pairs:
        if name in by_name:
            raise ValueError(f"{name} appears twice")
        by_name[name] = value
    return by_name


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


class Plain(yaml.SafeLoader):
    """A YAML loader that keeps days and clock times as text and rejects aliases and repeated keys."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(name, deep=True) for name, _ in node.value]
        if len(set(map(str, keys))) < len(keys):
            raise yaml.YAMLError("a key appears twice")
        return super().construct_mapping(node, deep)


setattr(Plain, "yaml_implicit_resolvers", {})  # noqa: B010 - the library's own, which would read days as dates
for _tag, _pattern in {
    "int": r"-?(?:0|[1-9][0-9]{0,17})",
    "float": r"-?(?:0|[1-9][0-9]{0,17})\.[0-9]+",
    "bool": "true|false",
    "null": "null|~|",
}.items():
    Plain.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), None)


def load_yaml(text: str) -> Any:
    return yaml.load(text, Plain)  # noqa: S506 - a safe loader
