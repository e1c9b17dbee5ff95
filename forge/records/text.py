"""Records as text: a title, one field per line, `---`, then free Markdown.

    # V-001
    scope: us_rates
    …five more lines…
    links: E-001, O-002
    scenarios: [{"name": "base", "probability": 1.0}]
    ---

    Body.

The first eight lines are always written, in fixed order; other fields only if they have a value. Parsing accepts the
lines in any order; errors give the line.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import date, datetime
from difflib import get_close_matches
from functools import cache
from hashlib import sha256
from textwrap import dedent
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from forge.core.errors import LineFault, RecordUnreadable
from forge.records.base import UNSTORED, InvalidRecord, Record, RecordFault
from forge.records.examples import EXAMPLES
from forge.records.kinds import NEW, Kind
from forge.records.spelling import EMPTY, STORED, Reading, load_json, quote, unquote
from pitlake.clock import iso

HEADER_LINES = 8
END = "---"
_DROPPED = {"title", "default", "$ref", "const", "required"}
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?")
_COMMENT = re.compile(r"\s+#\s.*$")


def render(record: Record) -> str:
    lines = [f"# {record.id}"]
    for number, name in enumerate(names(type(record)), start=2):
        text = write(getattr(record, name))
        if text or number <= HEADER_LINES:
            lines.append(f"{name}: {text}".rstrip())
    return "\n".join([*lines, END, "", record.body]).rstrip("\n") + "\n"


def write(value: Any) -> str:
    """Format a field's value on one line."""
    if value is None or value == ():
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, date):
        return iso(value) if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, tuple) and isinstance(value[0], str):
        return ", ".join(value)
    return json.dumps(value, default=_plain, ensure_ascii=False, sort_keys=isinstance(value, Mapping))


def _plain(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    parts = {part.name: (getattr(value, part.name), part.default) for part in fields(value)}
    return {name: part for name, (part, default) in parts.items() if default is MISSING or part != default}


def content_hash(record: Record) -> str:
    """Return the SHA-256 of a record's content, without its status and date."""
    status = schema(type(record))["status"]["enum"][0]
    return sha256(render(replace(cast("Any", record), status=status, updated=None)).encode()).hexdigest()


def _schema(cls: Any) -> dict[str, dict[str, Any]]:
    whole = adapter(cls).json_schema()
    parts, due = whole.get("$defs", {}), whole["required"]
    return {name: _flat(whole["properties"][name], parts) | {"needed": name in due} for name in names(cls)}


def _flat(part: dict[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without references, titles and defaults, with `optional` instead of null."""
    part = {**part, **parts.get(part.get("$ref", "").rpartition("/")[2], {})}
    choices = [choice for choice in part.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        return _flat({**part, "anyOf": (), **choices[0]}, parts) | {"optional": True}
    if "const" in part:
        part["enum"] = [part["const"]]
    if "items" in part:
        part["items"] = _flat(part["items"], parts)
    if "properties" in part:
        part["properties"] = {
            name: _flat(inner, parts) | {"needed": name in part["required"]}
            for name, inner in part["properties"].items()
        }
    return {name: value for name, value in part.items() if value not in (None, "", ()) and name not in _DROPPED}


adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)
schema: Callable[[Any], dict[str, dict[str, Any]]] = cache(_schema)
"""Returns the JSON schema of each field of a kind's class, in order, without id and body.

The schemas have no references. optional: whether null is valid too. needed: whether the field must be given.
"""


def is_pairs(part: Mapping[str, Any]) -> bool:
    """Return whether a schema describes names with values."""
    return [*part.get("items", {}).get("properties", ())] == ["name", "value"]


def names(cls: Any) -> list[str]:
    """Return the names of a record's fields, in order, without id and body."""
    return [each.name for each in fields(cls) if each.name not in ("id", "body")]


def parse(kind: Kind, text: str) -> Record:
    """Parse a stored record. Windows line ends are accepted. Raises RecordUnreadable with the lines."""
    lines = text.replace("\r\n", "\n").split("\n")
    name = lines[0].removeprefix("# ").strip()
    if not lines[0].startswith("# ") or not (kind.names(name) or (name == NEW and kind.prefix)):
        first_line = f"{kind.prefix}-001, or # new" if kind.prefix else "and its name"
        raise RecordUnreadable(1, f"a record of {kind.name} starts with its id", f"start with: # {first_line}")
    end = next((number for number, line in enumerate(lines) if line == END), None)
    if end is None:
        raise RecordUnreadable(len(lines), "the end of the fields is missing", f"write {END} on a line after them")
    pairs: list[tuple[int, str, Any]] = []
    for number, line in enumerate(lines[1:end], start=2):
        field_name, colon, value = line.partition(":")
        pairs.append((number, field_name if colon else line, value.strip()))
    body = "\n".join(lines[end + 1 :])
    stripped = body.lstrip("\n")
    layout = Layout(name, pairs, stripped.rstrip("\n"), end + 2 + len(body) - len(stripped))
    return assemble(kind, layout, STORED).checked()


@dataclass(frozen=True)
class Layout:
    """The parts of a record's text.

    pairs: line number, name and text of each field, or its value if the record is JSON. body_line: the line at which
    the body starts.
    """

    title: str
    pairs: list[tuple[int, str, Any]]
    body: str
    body_line: int


@dataclass(frozen=True)
class Draft:
    """A record with the faults of its text.

    record: the record, with the example's values in faulty fields. at: the line of each field. notes: the
    interpretations that the writer should check.
    """

    record: Record
    faults: list[LineFault]
    failed: frozenset[str]
    at: Mapping[str, int]
    notes: list[str] = field(default_factory=list)

    def checked(self) -> Record:
        """Return the record. Raises RecordUnreadable with every fault."""
        if self.faults:
            raise RecordUnreadable.all_of(self.faults)
        return self.record

    def add(self, kind: Kind, faults: Iterable[RecordFault]) -> "Draft":
        """Return the draft with additional faults, except those that only follow from earlier faults."""
        news = [fault for fault in faults if not self.failed & set(fault.fields)]
        lines = [
            LineFault(self.at.get(fault.fields[0], 1), f"{fault.fields[0]}: {fault.problem}", fault.next_step)
            for fault in news
        ]
        return replace(self, faults=[*self.faults, *lines])


def assemble(kind: Kind, layout: Layout, reading: Reading) -> Draft:
    """Build a record from the parts of its text. Raises RecordUnreadable if no record can be made."""
    due = schema(kind.cls)
    data: dict[str, Any] = {}
    at: dict[str, int] = {}
    faults: list[LineFault] = []
    failed: set[str] = set()
    for line, name, text in layout.pairs:
        if name not in due:
            near = get_close_matches(name, due, 1)
            step = f"did you mean {near[0]}?" if near else f"the fields are {', '.join(due)}"
            faults.append(LineFault(line, f"{name[:60]!r} is not a field", step))
        elif name in at:
            faults.append(LineFault(line, f"{name} appears twice", "keep one of the lines"))
        else:
            at[name] = line
            try:
                data |= decode(name, due[name], text, reading)
            except ValueError as problem:
                faults.append(LineFault(line, f"{name}: {problem}", right_form(kind, name)))
                failed.add(name)
    if missing := [name for name, part in due.items() if part["needed"] and name not in at]:
        step = "; ".join(right_form(kind, name) for name in missing) or f"add a line such as {missing[0]}: …"
        faults.append(LineFault(1, f"{', '.join(missing)}: missing", step))
        failed.update(missing)
    draft = Draft(cast("Any", None), faults, frozenset(failed), at, reading.notes)
    example, body = EXAMPLES.get(kind.name), layout.body
    # Faulty fields take the values of the kind's example.
    while True:
        if failed and example is None:
            raise RecordUnreadable.all_of(draft.faults)
        stand_ins = {name: getattr(example, name) for name in failed - {"body"}}
        try:
            fields_and_body = {"id": layout.title, "body": body, **data, **stand_ins}
            record = adapter(kind.cls).validate_python(fields_and_body, context=reading)
        except ValidationError as invalid:
            new_faults = [fault for error in invalid.errors() for fault in _faults(error)]
            bad = next((n for n, line in enumerate(body.split("\n"), layout.body_line) if UNSTORED.search(line)), None)
            lines = {**draft.at, "body": bad or layout.body_line}
            steps = [fault._replace(next_step=right_form(kind, fault.fields[-1])) for fault in new_faults]
            draft = replace(draft, at=lines, failed=frozenset(failed)).add(kind, steps)
            failed |= {name for fault in new_faults for name in fault.fields}
            body = "" if "body" in failed else body
        else:
            return replace(draft, record=record, failed=frozenset(failed))


def decode(name: str, part: Mapping[str, Any], text: Any, reading: Reading) -> dict[str, Any]:
    """Return a field's value for pydantic, by name, or an empty dict for the default. Raises ValueError."""
    is_line = part.get("type") == "string" and not {"enum", "format"} & part.keys()
    value = text
    if isinstance(text, str) and not reading.exact:
        text = dedent(text).strip()
        if is_line or "\n" not in text:
            text = unquote(text if is_line else _COMMENT.sub("", text))
        value = "" if text.casefold() in EMPTY and not (is_line and part["needed"]) else text
    if value in ("", None, []):
        if part["needed"]:
            raise ValueError("is empty")
        is_names = part.get("items") == {"type": "string"}
        return {name: ""} if is_line else {name: None} if part.get("optional") else {name: ()} if is_names else {}
    is_structure = part["type"] in ("array", "object") and part.get("items") != {"type": "string"}
    is_number = part["type"] in ("number", "integer")
    if reading.exact and (is_structure or (is_number and _NUMBER.fullmatch(value))):
        value = load_json(value)
    return {name: value}


def _faults(error: Any) -> list[RecordFault]:
    """Convert one of pydantic's errors to faults with our messages."""
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, InvalidRecord):
        return list(cause.faults)
    name, *inside = error["loc"]
    where = "".join(f"{part}: " for part in inside if isinstance(part, str))
    problems = {
        "missing": "is missing",
        "unexpected_keyword_argument": "is unknown",
        "value_error": str(cause),
        "dataclass_type": f"{quote(error['input'])} is not a structure",
        "tuple_type": "is not a list",
        "dict_type": "is not an object",
    }
    return [RecordFault((str(name),), where + problems.get(error["type"], error["msg"]))]


def right_form(kind: Kind, name: str) -> str:
    """Return the text to write for a field, from the kind's example; "" if the example leaves the field out."""
    example = EXAMPLES.get(kind.name)
    text = write(getattr(example, name)) if example and name != "body" else ""
    return f"write for example {name}: {text}" if text else ""
