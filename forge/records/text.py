"""Records as text: a title, one field per line, `---`, then free Markdown; parsed strictly.

    # V-001
    scope: us_rates
    …five more lines…
    links: E-001, O-002
    scenarios: [{"name": "base", "probability": 1.0}]
    ---

    Body.

The first eight lines are always written, in fixed order; further fields only if they have a value. Parsing accepts the
lines in any order; errors name the line.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, cast

from forge.core.errors import RecordUnreadable
from forge.records import values
from forge.records.base import UNSTORED, Record
from forge.records.kinds import NEW, Kind

HEADER_LINES = 8
END = "---"


def render(record: Record) -> str:
    """Return the text of a record."""
    lines = [f"# {record.id}"]
    for number, (name, spec) in enumerate(values.specs(type(record)).items(), start=2):
        value = values.write(spec, getattr(record, name))
        if value or number <= HEADER_LINES:
            lines.append(f"{name}: {value}".rstrip())
    return "\n".join([*lines, END, "", record.body]).rstrip("\n") + "\n"


def content_hash(record: Record) -> str:
    """Return the SHA-256 of a record's content, whatever its status and date."""
    status = values.specs(type(record))["status"].words[0]
    return sha256(render(replace(cast("Any", record), status=status, updated=None)).encode()).hexdigest()


def parse(kind: Kind, text: str) -> Record:
    """Parse a record. Windows line ends are accepted. Raises RecordUnreadable with the line."""
    lines = text.replace("\r\n", "\n").split("\n")
    name = lines[0].removeprefix("# ").strip()
    if not lines[0].startswith("# ") or not (kind.names(name) or (name == NEW and kind.prefix)):
        due = f"{kind.prefix}-001, or # new" if kind.prefix else "and its name"
        raise RecordUnreadable(1, f"a record of {kind.name} starts with its id", f"start with: # {due}")
    end = next((number for number, line in enumerate(lines) if line == END), None)
    if end is None:
        raise RecordUnreadable(len(lines), "the end of the fields is missing", f"write {END} on a line after them")
    field_values, at = _fields(kind, lines[1:end])
    try:
        make: Callable[..., Record] = kind.cls
        return make(id=name, body="\n".join(lines[end + 1 :]).strip("\n"), **field_values)
    except ValueError as problem:
        field, _, rest = str(problem).partition(": ")
        body = next((n for n, line in enumerate(lines[end + 1 :], end + 2) if UNSTORED.search(line)), end + 2)
        raise RecordUnreadable(body if field == "body" else at.get(field, 1), f"{field}: {rest}") from None


def _fields(kind: Kind, lines: list[str]) -> tuple[Mapping[str, Any], dict[str, int]]:
    due = values.specs(kind.cls)
    field_values: dict[str, Any] = {}
    at: dict[str, int] = {}
    for number, line in enumerate(lines, start=2):
        name, colon, text = line.partition(":")
        if not colon or name not in due:
            raise RecordUnreadable(number, f"{line[:60]!r} is not a field", f"the fields are {', '.join(due)}")
        if name in field_values:
            raise RecordUnreadable(number, f"{name} appears twice", "keep one of the lines")
        try:
            field_values[name], at[name] = values.read(due[name], text.strip()), number
        except ValueError as problem:
            raise RecordUnreadable(number, f"{name}: {problem}") from None
    if missing := [name for name, spec in due.items() if spec.required and name not in field_values]:
        raise RecordUnreadable(1, f"{', '.join(missing)}: missing", f"add a line such as {missing[0]}: …")
    return field_values, at
