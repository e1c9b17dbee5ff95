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

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, cast

from forge.core.errors import LineFault, RecordUnreadable
from forge.records import values
from forge.records.base import UNSTORED, InvalidRecord, Record, RecordFault
from forge.records.examples import EXAMPLES
from forge.records.kinds import NEW, Kind
from forge.records.natural import Read

HEADER_LINES = 8
END = "---"


def render(record: Record) -> str:
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
    """Parse a stored record. Windows line ends are accepted. Raises RecordUnreadable with the lines."""
    lines = text.replace("\r\n", "\n").split("\n")
    name = lines[0].removeprefix("# ").strip()
    if not lines[0].startswith("# ") or not (kind.names(name) or (name == NEW and kind.prefix)):
        first_line = f"{kind.prefix}-001, or # new" if kind.prefix else "and its name"
        raise RecordUnreadable(1, f"a record of {kind.name} starts with its id", f"start with: # {first_line}")
    end = next((number for number, line in enumerate(lines) if line == END), None)
    if end is None:
        raise RecordUnreadable(len(lines), "the end of the fields is missing", f"write {END} on a line after them")
    pairs = [(number, *_split(line)) for number, line in enumerate(lines[1:end], start=2)]
    body = "\n".join(lines[end + 1 :])
    stripped = body.lstrip("\n")
    layout = Layout(name, pairs, stripped.rstrip("\n"), end + 2 + len(body) - len(stripped))
    return assemble(kind, layout, values.read).checked()


@dataclass(frozen=True)
class Layout:
    """The parts of a record's text.

    pairs: line number, name and text of each field. body_line: the line at which the body starts.
    """

    title: str
    pairs: list[tuple[int, str, str]]
    body: str
    body_line: int


@dataclass(frozen=True)
class Draft:
    """A record with the faults of its text.

    record: the record, with the example's values in faulty fields. at: the line of each field.
    """

    record: Record
    faults: list[LineFault]
    failed: frozenset[str]
    at: Mapping[str, int]

    def checked(self) -> Record:
        """Return the record. Raises RecordUnreadable with every fault."""
        if self.faults:
            raise RecordUnreadable.all_of(self.faults)
        return self.record

    def add(self, kind: Kind, faults: Iterable[RecordFault]) -> "Draft":
        """Return the draft with more faults, without those that only follow from faults it already has."""
        news = [fault for fault in faults if not self.failed & set(fault.fields)]
        lines = [
            LineFault(self.at.get(fault.fields[0], 1), f"{fault.fields[0]}: {fault.problem}", fault.next_step)
            for fault in news
        ]
        return replace(self, faults=[*self.faults, *lines])


def assemble(kind: Kind, layout: Layout, read: Read) -> Draft:
    """Build a record from the parts of its text.

    read: a function that parses a field's value. Raises RecordUnreadable if no record can
    be made.
    """
    field_specs = values.specs(kind.cls)
    field_values: dict[str, Any] = {}
    at: dict[str, int] = {}
    faults: list[LineFault] = []
    failed: set[str] = set()
    for line, name, text in layout.pairs:
        if name not in field_specs:
            faults.append(LineFault(line, f"{name[:60]!r} is not a field", f"the fields are {', '.join(field_specs)}"))
        elif name in at:
            faults.append(LineFault(line, f"{name} appears twice", "keep one of the lines"))
        else:
            at[name] = line
            try:
                field_values[name] = read(field_specs[name], text)
            except ValueError as problem:
                faults.append(LineFault(line, f"{name}: {problem}", right_form(kind, name)))
                failed.add(name)
    if missing := [name for name, spec in field_specs.items() if spec.required and name not in at]:
        step = "; ".join(right_form(kind, name) for name in missing) or f"add a line such as {missing[0]}: …"
        faults.append(LineFault(1, f"{', '.join(missing)}: missing", step))
        failed.update(missing)
    return _make(kind, layout, field_values, Draft(cast("Any", None), faults, frozenset(failed), at))


def _make(kind: Kind, layout: Layout, field_values: dict[str, Any], draft: Draft) -> Draft:
    """Create the record. Faulty fields take the values of the kind's example."""
    example, body, failed = EXAMPLES.get(kind.name), layout.body, set(draft.failed)
    make: Callable[..., Record] = kind.cls
    while True:
        if failed and example is None:
            raise RecordUnreadable.all_of(draft.faults)
        stand_ins = {name: getattr(example, name) for name in failed - {"body"}}
        try:
            record = make(id=layout.title, body=body, **field_values | stand_ins)
        except InvalidRecord as invalid:
            bad = next((n for n, line in enumerate(body.split("\n"), layout.body_line) if UNSTORED.search(line)), None)
            at = {**draft.at, "body": bad or layout.body_line}
            steps = [fault._replace(next_step=right_form(kind, fault.fields[-1])) for fault in invalid.faults]
            draft = replace(draft, at=at, failed=frozenset(failed)).add(kind, steps)
            failed |= {name for fault in invalid.faults for name in fault.fields}
            body = "" if "body" in failed else body
        else:
            return replace(draft, record=record, failed=frozenset(failed))


def right_form(kind: Kind, name: str) -> str:
    """Return the text to write for a field, from the kind's example; "" if the example leaves the field out."""
    example = EXAMPLES.get(kind.name)
    value = values.write(values.specs(kind.cls)[name], getattr(example, name)) if example and name != "body" else ""
    return f"write for example {name}: {value}" if value else ""


def _split(line: str) -> tuple[str, str]:
    name, colon, text = line.partition(":")
    return (name, text.strip()) if colon else (line, "")
