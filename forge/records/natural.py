"""Reads field values as people and models write them, if only one meaning is possible.

Accepted: `60%` for a share, `1%` for percent of capital, `1,000.5`, `$27.60`, quoted text, `28 June 2024`, lists and
structures as YAML, words of an enumeration in any case, and comments after a value. A value with two possible meanings,
such as 06/07/2024, is refused.
"""

import json
import re
from collections.abc import Callable, Hashable
from dataclasses import is_dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, get_args, get_origin, get_type_hints

import yaml

from forge.records import values
from forge.records.judged import AND, Settles
from forge.records.values import PERCENT, Bounds, Spec
from pitlake.clock import iso, start_of_new_york_day

EMPTY = frozenset({"", "~", "null", "none", "n/a", "[]"})
MINUS = "\N{MINUS SIGN}"
_QUOTED = re.compile(r"""(?P<quote>["'])(?P<text>.*)(?P=quote)(?:\s+#.*)?""")
_CURLY = str.maketrans({"\N{LEFT DOUBLE QUOTATION MARK}": '"', "\N{RIGHT DOUBLE QUOTATION MARK}": '"'})
_COMMENT = re.compile(r"\s+#\s.*$")
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)\$?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+)(?P<power>[eE][+-]?\d{1,3})?"
    r"\s*(?P<percent>%|percent|pct)?"
)
_RULE = re.compile(r"(?P<column>[a-z][a-z0-9_]*)\s*(?P<sign><=|>=|==|!=|<|>|=|≤|≥)\s*(?P<value>.+)")
_SIGNS = {"=": "==", "≤": "<=", "≥": ">="}
_DAY_FORMS = ("%Y-%m-%d", "%Y/%m/%d", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%B %d %Y", "%b %d %Y")


def read(spec: Spec, text: str) -> Any:
    """Parse a field's value in any unambiguous spelling. Raises ValueError with the fault."""
    text = text.strip()
    if spec.base is str and not spec.words:
        text = unquote(text)
        return values.read(spec, "" if text.casefold() in EMPTY and not spec.required else text)
    if "\n" not in text:
        text = unquote(_COMMENT.sub("", text))
    if text.casefold() in EMPTY:
        return values.read(spec, "")
    if get_origin(spec.base) is None and not is_dataclass(spec.base):
        return values.read(spec, str(_scalar(spec, text)))
    value = values.build(spec.base, _shape(spec, _structure(text)))
    values.check(spec, value)
    return value


def read_number(text: str, bounds: Bounds) -> str:
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


def read_day(text: str) -> date:
    """Parse a day. Raises ValueError."""
    for form in _DAY_FORMS:
        try:
            return datetime.strptime(text.strip(), form).date()  # noqa: DTZ007 - a day has no zone
        except ValueError:
            continue
    raise ValueError(f"{text[:60]!r} is not a day such as 2024-02-15")


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


def _scalar(spec: Spec, value: Any) -> Any:
    """Return the canonical spelling of a value that is not a structure."""
    text = str(value)
    if spec.words:
        word = re.sub(r"[ -]+", "_", text.strip().casefold())
        return word if word in spec.words else text
    if spec.base in (int, float):
        return read_number(text, spec.bounds)
    if spec.base is date:
        return read_day(text).isoformat()
    if spec.base is datetime:
        try:
            return iso(start_of_new_york_day(read_day(text)))
        except ValueError:
            return text
    return value if spec.base is Any else text


def _structure(text: str) -> Any:
    for load in (values.load_json, _load_yaml, lambda part: _load_yaml(f"{{{part}}}")):
        try:
            return load(text)
        except (ValueError, yaml.YAMLError, RecursionError):
            continue
    raise ValueError("is neither JSON nor YAML")


def _shape(spec: Spec, data: Any) -> Any:
    """Return data in the form that `values.build` takes for a type."""
    base: Any = spec.base
    if data is None or (base is Any):
        return data
    if is_dataclass(base):
        return _shape_part(base, data)
    if get_origin(base) is tuple:
        inner = values.spec_of(get_args(base)[0])
        return [_shape(inner, item) for item in _items(inner, data)]
    if get_origin(base) is dict:
        pairs = _merged(data) if isinstance(data, list) else data
        inner = values.spec_of(get_args(base)[1])
        return {str(name): _shape(inner, item) for name, item in pairs.items()} if isinstance(pairs, dict) else pairs
    if isinstance(data, bool) or not isinstance(data, str | int | float):
        return data
    value = _scalar(spec, data)
    return float(value) if base is float else int(value) if base is int and value.isdigit() else value


def _items(inner: Spec, data: Any) -> list[Any]:
    """Return the items of a list, which may be written as a mapping, or as names with commas."""
    if (
        isinstance(data, dict)
        and is_dataclass(inner.base)
        and not set(map(_key, data)) <= set(values.specs(inner.base))
    ):
        return [{name: value} for name, value in data.items()]
    if isinstance(data, str) and inner.base is str:
        return [unquote(part.strip()) for part in data.split(",")]
    if isinstance(data, dict) and inner.base is str:  # In braces, "a, b" is a mapping without values.
        return list(data)
    return data if isinstance(data, list) else [data]


def _shape_part(kind: Any, data: Any) -> Any:
    """Return a structure's fields: from a mapping, a pair of name and number, or the only field's value."""
    field_specs, hints = values.specs(kind), get_type_hints(kind, include_extras=True)
    required = [name for name, spec in field_specs.items() if spec.required]
    if not isinstance(data, dict):
        return {required[0]: str(data)} if len(required) == 1 and not isinstance(data, list) else data
    fields = {_key(name): value for name, value in data.items()}
    if len(data) == 1 and len(required) == 2 and not set(fields) & set(field_specs):
        ((name, value),) = data.items()
        fields = {required[0]: str(name), required[1]: value}
    if kind is Settles and isinstance(fields.get("rule"), str):
        fields["rule"] = _rule(fields["rule"])
    if isinstance(fields.get("when"), str):
        fields["when"] = AND.join(map(_rule, re.split(r"\s+and\s+|\s*&&\s*", fields["when"].strip())))
    return {
        name: _shape(values.spec_of(hints[name]), value) if name in field_specs else value
        for name, value in fields.items()
    }


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


def _merged(items: list[Any]) -> Any:
    if not all(isinstance(item, dict) for item in items):
        return items
    return {name: value for item in items for name, value in item.items()}


def _key(name: Any) -> str:
    return re.sub(r"[ -]+", "_", str(name).strip().casefold())


class _Plain(yaml.SafeLoader):
    """YAML in which days and clock times stay text; without aliases and repeated keys."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
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


def _load_yaml(text: str) -> Any:
    return yaml.load(text, _Plain)  # noqa: S506 - a safe loader


Read = Callable[[Spec, str], Any]
"""Parses a field's value: `read` of this module for texts of people and models, `values.read` for stored texts."""
