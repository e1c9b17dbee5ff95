"""The types of a record's fields: their bounds and words, and the spellings that pydantic reads as their values.

An agent or the PM may write `60%` for a share, `$1,000.50`, `28 June 2024`, `3 months`, a word in any case, or a
structure as JSON or YAML, if only one meaning is possible. A stored text has one spelling only: texts as they are,
numbers as in JSON, instants and days in ISO 8601, names with commas, and structures as JSON.
"""

import calendar
import json
import math
import re
import unicodedata
from collections.abc import Callable, Hashable, Iterable
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, get_args

import yaml
from pydantic_core import core_schema

from pitlake import outside_json
from pitlake.clock import instant, start_of_new_york_day
from pitlake.errors import BadInput

PERCENT = "percent of capital"
MOST_TEXT = 2_000
TOO_LARGE = 10**18
EMPTY = frozenset({"", "~", "null", "none", "n/a", "[]"})
MINUS = "\N{MINUS SIGN}"
AND = " and "
ALIASES = {
    "buy": "long", "sell": "short", "prob": "probability", "p": "probability", "deadline": "by", "scenario": "name",
}  # fmt: skip
"""Words and names of fields that models write, and what they mean."""
_QUOTED = re.compile(r"""(?P<quote>["'])(?P<text>.*)(?P=quote)(?:\s+#.*)?""")
_CURLY = str.maketrans({"\N{LEFT DOUBLE QUOTATION MARK}": '"', "\N{RIGHT DOUBLE QUOTATION MARK}": '"'})
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)\$?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+)(?P<power>[eE][+-]?\d{1,3})?"
    r"\s*(?P<percent>%|percent|pct)?"
)
_RULE = re.compile(r"(?P<column>[a-z][a-z0-9_]*)\s*(?P<sign><=|>=|==|!=|<|>|=|≤|≥)\s*(?P<value>.+)")
_SIGNS = {"=": "==", "≤": "<=", "≥": ">="}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DAY_FORMS = ("%Y-%m-%d", "%Y/%m/%d", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%B %d %Y", "%b %d %Y")
_DURATION = re.compile(r"(?:in )?([1-9][0-9]{0,2}) ?(d|day|w|week|m|month|y|year)s?")
_LEVEL = re.compile(r"(\$?[0-9][0-9,]*(?:\.[0-9]+)?)\s*\(.*\)")
_THIRTY_SECONDS = re.compile(r"([0-9]{2,3})-([0-2][0-9]|3[01])\+?")
_UNSTORED = {"Cc", "Cs", "Zl", "Zp"}


@dataclass
class Reading:
    """How texts are read. exact: only the spelling of stored texts. today: the day on which durations start. notes:
    what was read in more than one step, for the writer to check.
    """

    exact: bool = False
    today: date | None = None
    notes: list[str] = field(default_factory=list)

    def note(self, name: str, text: Any, value: Any) -> None:
        """Note how a text was read."""
        self.notes.append(f"{name} {str(text)!r} as {value}")


STORED = Reading(exact=True)


class Spelling:
    """Marks the type of a field: reads its spellings before pydantic validates the value."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        def read(value: Any, info: Any) -> Any:
            return self.read(source, value, info.context or STORED, info.field_name or "")

        return core_schema.with_info_before_validator_function(read, handler(source))

    def read(self, kind: Any, value: Any, reading: Reading, name: str) -> Any:
        """Return the value of a spelling. Raises ValueError saying what is wrong."""
        raise NotImplementedError


class _Bounds(NamedTuple):
    low: float = -math.inf
    high: float = math.inf
    unit: str = ""


class Bounds(_Bounds, Spelling):
    """The smallest and the largest allowed number, inclusive, and its unit."""

    def read(self, kind: Any, value: Any, reading: Reading, name: str) -> Any:
        """Return a number. A whole number from 2 to 100 is a share in percent."""
        written = value
        if isinstance(value, str) and not reading.exact:
            value = (int if kind is int and value.strip().isdigit() else float)(read_number(value, self))
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < TOO_LARGE:
            raise ValueError(f"{quote(written)} is not a number")
        if not reading.exact and self[:2] == (0, 1) and 2 <= value <= 100 and value == int(value):
            value = value / 100
            reading.note(name, written, f"{value:g}")
        if not self.low <= value <= self.high:
            limits = f"from {self.low:g} to {self.high:g}" if self.high < math.inf else f"{self.low:g} or more"
            raise ValueError(f"{value:g} is not {limits}")
        return value

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        bounds = {"minimum": self.low, "maximum": self.high, "description": self.unit and f"in {self.unit}"}
        return handler(schema) | {
            name: value for name, value in bounds.items() if value not in ("", math.inf, -math.inf)
        }


class _Line(Spelling):
    def read(self, kind: Any, value: Any, reading: Reading, name: str) -> Any:
        if isinstance(value, int | float) and not reading.exact:
            value = str(value)
        one_line(value)
        return value


class _Word(Spelling):
    def read(self, kind: Any, value: Any, reading: Reading, name: str) -> Any:
        words = get_args(kind)
        word = key(value) if isinstance(value, str) and not reading.exact else value
        if word not in words and not reading.exact:
            meant = [each for each in words if isinstance(word, str) and each.startswith(f"{word}_")]
            word = ALIASES.get(word, word) if len(meant) != 1 else meant[0]
            if word in words:
                reading.note(name, value, word)
        if word not in words:
            raise ValueError(f"{quote(value)} is not one of {', '.join(words)}")
        return word


class _Day(Spelling):
    def read(self, kind: Any, value: Any, reading: Reading, name: str) -> Any:
        if not isinstance(value, str):
            return value
        duration = _DURATION.fullmatch(value.strip().casefold())
        if duration and reading.today and not reading.exact:
            day = after(reading.today, int(duration[1]), duration[2][0])
            reading.note(name, value, day)
            return day
        return read_day(value, _DAY_FORMS[:1] if reading.exact else _DAY_FORMS)


class _Instant(Spelling):
    def read(self, kind: Any, value: Any, reading: Reading, name: str) -> Any:
        if isinstance(value, str) and not reading.exact:
            try:
                return start_of_new_york_day(read_day(value))
            except ValueError:
                pass
        try:
            return instant(value)
        except (BadInput, AttributeError) as fault:
            raise ValueError(getattr(fault, "problem", f"{quote(value)} is not an instant")) from None


class _Names(Spelling):
    def read(self, kind: Any, value: Any, reading: Reading, name: str) -> Any:
        if isinstance(value, str):
            value = structure(value) if value[:1] in "[-{" and not reading.exact else value
            value = [unquote(part.strip()) for part in value.split(",")] if isinstance(value, str) else value
        for item in value if isinstance(value, list | tuple | dict) else [None]:
            if not isinstance(item, str) or not _NAME.fullmatch(item):
                raise ValueError(f"{quote(item)} is not a name; separate names by commas")
        return tuple(value)


class _Pairs(Spelling):
    """Names with values: a mapping, or a list of pairs, which a provider can enforce."""

    def read(self, kind: Any, value: Any, reading: Reading, name: str) -> Any:
        if isinstance(value, str) and not reading.exact:
            value = structure(value)
        if isinstance(value, list | tuple) and not reading.exact and all(isinstance(item, dict) for item in value):
            pairs = [{item["name"]: item["value"]} if {*item} == {"name", "value"} else item for item in value]
            value = {name: item for pair in pairs for name, item in pair.items()}
        return value

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        value = handler(schema).get("additionalProperties")
        texts = {"type": "array", "items": {"type": "string"}}
        if not isinstance(value, dict):
            value = {"anyOf": [{"type": "string"}, {"type": "number"}, texts]}
        pair = {"name": {"type": "string"}, "value": value}
        items = {"type": "object", "properties": pair, "required": [*pair], "additionalProperties": False}
        return {"type": "array", "items": items}


class _Rule(Spelling):
    def read(self, kind: Any, value: Any, reading: Reading, name: str) -> Any:
        if not isinstance(value, str) or reading.exact:
            return value
        return AND.join(map(_rule, re.split(r"\s+and\s+|\s*&&\s*", value.strip())))


class _Level(_Line):
    """A price, or a text about one: `120 (+20%)` is 120, and 120-16 in 32nds is 120.5."""

    def read(self, kind: Any, value: Any, reading: Reading, name: str) -> Any:
        value = super().read(kind, value, reading, name)
        level, thirty_seconds = _LEVEL.fullmatch(value), _THIRTY_SECONDS.fullmatch(value)
        if reading.exact or not (level or thirty_seconds):
            return value
        text = level[1] if level else f"{price_in_32nds(value):g}"
        reading.note(name, value, text)
        return text


class _Parts(Spelling):
    """Structures, or a list of them: written as JSON, YAML or a mapping of names to them."""

    def read(self, kind: Any, value: Any, reading: Reading, name: str) -> Any:
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
    """Return a structure's fields: from a mapping, a pair of name and rest, or the text of its first field."""
    first, *others = (each.name for each in fields(kind) if each.default is each.default_factory is MISSING)
    if isinstance(value, str | int | float) and not others:
        return {first: str(value)}
    if not isinstance(value, dict):
        return value
    named = {_field_name(kind, name): item for name, item in value.items()}
    if len(named) == 1 and not set(named) & set(_names(kind)):
        ((name, item),) = value.items()
        if isinstance(item, dict):
            return {first: str(name), **_part(kind, item)}
        return {first: str(name), others[0]: item} if others else {first: f"{name}: {item}"}
    return named


def _names(kind: Any) -> list[str]:
    return [each.name for each in fields(kind)]


def _field_name(kind: Any, name: Any) -> str:
    word = key(name)
    return word if word in _names(kind) else ALIASES.get(word, word)


Line = Annotated[str, _Line()]
Rule = Annotated[str, _Rule()]
Level = Annotated[str, _Level()]
Day = Annotated[date, _Day()]
Instant = Annotated[datetime, _Instant()]
Names = Annotated[tuple[str, ...], _Names()]
WORD, PARTS, PAIRS = _Word(), _Parts(), _Pairs()
Real = Annotated[float, Bounds()]


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


def read_number(text: str, bounds: _Bounds) -> str:
    """Return the canonical spelling of a number. Raises ValueError."""
    match = _NUMBER.fullmatch(text.strip().replace(MINUS, "-"))
    if match is None:
        raise ValueError(f"{text[:60]!r} is not a number")
    number = Decimal(match["sign"] + match["digits"].replace(",", "") + (match["power"] or ""))
    if not match["percent"] or bounds.unit == PERCENT:
        return str(number)
    if (bounds.low, bounds.high) != (0, 1):
        raise ValueError(f"{text[:60]!r} is in percent, which this number is not")
    return str(number / 100)


def read_day(text: str, forms: Iterable[str] = _DAY_FORMS) -> date:
    """Parse a day. Raises ValueError."""
    for form in forms if not _DAY.fullmatch(text.strip()) else _DAY_FORMS[:1]:
        try:
            return datetime.strptime(text.strip(), form).date()  # noqa: DTZ007 - a day has no zone
        except ValueError:
            continue
    raise ValueError(f"{text[:60]!r} is not a day such as 2024-02-15")


def after(day: date, number: int, unit: str) -> date:
    """Return the day that a number of days, weeks, months or years (d, w, m, y) is after another."""
    if unit in "dw":
        return day + timedelta(days=number * (7 if unit == "w" else 1))
    months = day.month - 1 + number * (12 if unit == "y" else 1)
    year, month = day.year + months // 12, months % 12 + 1
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def price_in_32nds(text: str) -> float | None:
    """Return a price such as 112-16 in decimals, or None for any other text."""
    match = _THIRTY_SECONDS.fullmatch(text)
    return int(match[1]) + int(match[2]) / 32 if match else None


def unquote(text: str) -> str:
    """Return a text without the quotes around it, and without the comment after them."""
    match = _QUOTED.fullmatch(text.translate(_CURLY))
    if match is None or match["quote"] in match["text"].replace(f"\\{match['quote']}", ""):
        return text
    if match["quote"] == '"':
        try:
            return str(json.loads(f'"{match["text"]}"'))
        except ValueError:
            return match["text"]
    return match["text"]


def key(name: Any) -> str:
    """Return a name or a word in small letters, with underscores for blanks and hyphens."""
    return re.sub(r"[ -]+", "_", str(name).strip().casefold())


def quote(value: Any) -> str:
    return repr(value)[:60]


def _rule(text: str) -> str:
    match = _RULE.fullmatch(text.strip())
    if match is None:
        return text
    value = match["value"].strip()
    if _QUOTED.fullmatch(value):
        value = f"'{unquote(value)}'"
    else:
        try:
            value = read_number(value, Bounds())
        except ValueError:
            return text
    return f"{match['column']} {_SIGNS.get(match['sign'], match['sign'])} {value}"


def load_json(text: str) -> Any:
    """Parse JSON without repeated keys. Raises ValueError."""
    try:
        return outside_json.loads(text, object_pairs_hook=_unrepeated, parse_constant=_no_constant)
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"is not JSON: {str(problem)[:80]}") from None


def structure(text: str) -> Any:
    """Parse JSON, or YAML whose outer braces may be missing. Raises ValueError."""
    readers: tuple[Callable[[str], Any], ...] = (load_json, load_yaml, lambda part: load_yaml(f"{{{part}}}"))
    for load in readers:
        try:
            return load(text)
        except (ValueError, yaml.YAMLError, RecursionError):
            continue
    raise ValueError("is neither JSON nor YAML")


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key appears twice")
    return dict(pairs)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


class _Plain(yaml.SafeLoader):
    """YAML in which days and clock times stay text; without aliases and repeated keys."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(name, deep=True) for name, _ in node.value]
        if len(set(map(str, keys))) < len(keys):
            raise yaml.YAMLError("a key appears twice")
        return super().construct_mapping(node, deep)


setattr(_Plain, "yaml_implicit_resolvers", {})  # noqa: B010 - the library's own, which would read days as dates
for _tag, _pattern in {
    "int": r"-?(?:0|[1-9][0-9]{0,17})",
    "float": r"-?(?:0|[1-9][0-9]{0,17})\.[0-9]+",
    "bool": "true|false",
    "null": "null|~|",
}.items():
    _Plain.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), None)


def load_yaml(text: str) -> Any:
    return yaml.load(text, _Plain)  # noqa: S506 - a safe loader
