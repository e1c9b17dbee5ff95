"""Parses records as people and models write them. This module splits the text into parts; `text` builds the record.

Accepted: a missing title, front matter, a code fence around the record, bold or bulleted field names, a table of
fields, multi-line values, blank lines between fields, comments, a body without `---` before it, and JSON.
"""

import re
from dataclasses import replace
from datetime import date
from textwrap import dedent
from typing import Any

from forge.core.errors import RecordUnreadable
from forge.records.kinds import NEW, Kind
from forge.records.spelling import Reading, key, load_json, unique_names
from forge.records.text import END, Draft, Layout, assemble, schema

_FENCE = re.compile(r"\s*```[\w-]*\n(.*)\n```\s*", re.DOTALL)
_FIELD = re.compile(r"(?:[-*] )?\**(?P<name>[A-Za-z_][\w -]{0,40}?)\**\s*:\**(?:\s+(?P<text>.*))?")
_CELLS = re.compile(r"\|\s*\**(?P<name>[^|]*?)\**\s*\|\s*(?P<text>.*?)\s*\|\s*")
_TITLE = re.compile(r"#+\s*(?P<title>.*?)\s*")
_BLOCK = frozenset({"", "|", ">", "|-", ">-"})
IGNORED = frozenset({"updated", "capped_from"})
"""Fields that only code sets. Values in a draft are ignored."""
KEPT = frozenset({
    "author", "context", "created", "created_at", "date", "description", "evidence", "kind", "note", "notes",
    "rationale", "reasoning", "tags", "thesis", "title", "type",
})  # fmt: skip
"""Fields that models add although no record has them. They are kept in the body."""


def read_draft(kind: Kind, text: str, name: str, today: date | None = None) -> Draft:
    """Read a record as a person or a model wrote it.

    name: the name in its path, `new` or an id. today: the day on which durations such as `3 months` start.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\t", " ")
    while fence := _FENCE.fullmatch(text):
        text = fence[1]
    reader = _Reader(kind, text.split("\n"), name)
    layout = reader.json_layout(text) if text.lstrip()[:1] == "{" else reader.layout()
    due = schema(kind.cls)
    more = [f"{name}: {value}" for _, name, value in layout.pairs if name in KEPT and name not in due]
    pairs = [pair for pair in layout.pairs if pair[1] in due.keys() - IGNORED or pair[1] not in KEPT | IGNORED]
    body = "\n\n".join(filter(None, ["\n".join(more), layout.body]))
    return assemble(kind, replace(layout, pairs=pairs, body=body), Reading(today=today))


class _Reader:
    """A parser for the lines of one draft."""

    def __init__(self, kind: Kind, lines: list[str], name: str) -> None:
        self._kind, self._lines, self._title = kind, lines, name
        self._due = schema(kind.cls)
        self._pairs: list[tuple[int, str, list[str]]] = []

    def json_layout(self, text: str) -> Layout:
        """Return the title, the fields and the body of a JSON object, or of the lines if the text is not valid JSON."""
        try:
            whole = load_json(text)
        except ValueError as problem:
            layout = self.layout()
            if not self._due.keys() & {name for _, name, _ in layout.pairs}:
                raise RecordUnreadable(1, f"the text {problem}", "write one field per line, or JSON") from None
            return layout
        try:
            by_name: dict[str, Any] = unique_names((key(name), value) for name, value in whole.items())
        except ValueError as problem:
            raise RecordUnreadable(1, str(problem), "give each field once") from None
        self._set_title(str(by_name.pop("id", "")))
        body = str(by_name.pop("body", None) or "").strip("\n")
        if summary := by_name.pop("summary", None):
            body = f"## SUMMARY\n\n{summary}\n\n{body}".strip("\n")
        return Layout(self._title, [(1, name, value) for name, value in by_name.items()], body, 1)

    def layout(self) -> Layout:
        """Return the title, the fields and the body."""
        number, heading = self._skip_blank(0), ""
        if number < len(self._lines) and (match := _TITLE.fullmatch(self._lines[number])):
            heading = "" if self._set_title(match["title"]) else self._lines[number]
            number = self._skip_blank(number + 1)
        number = self._read_fields(number)
        body = "\n".join(self._lines[number:]).strip("\n")
        if heading and not body.startswith(heading):
            body = f"{heading}\n\n{body}".strip("\n")
        pairs = list[tuple[int, str, Any]]()
        for line, name, parts in self._pairs:
            if self._due.get(name, {}).get("type", "string") == "string":
                value = " ".join(part.strip() for part in parts if part.strip() not in _BLOCK)
            else:
                value = dedent("\n".join(parts[1:] if parts[0].strip() in _BLOCK else parts)).strip("\n")
            pairs.append((line, name, value))
        return Layout(self._title, pairs, body, number + 1)

    def _skip_blank(self, number: int) -> int:
        while number < len(self._lines) and (not self._lines[number].strip() or self._lines[number].strip() == END):
            number += 1
        return number

    def _set_title(self, text: str) -> bool:
        """Read an id from a title. Return whether the title contains only the id."""
        first, _, rest = text.strip("*` ").partition(" ")
        name = first.strip(":").upper()
        if name in ("NEW", f"{self._kind.prefix}-NEW"):
            self._title = NEW
        elif self._kind.names(name):
            self._title = name
        elif self._kind.names(first):
            self._title = first
        else:
            return False
        return not rest

    def _read_fields(self, number: int) -> int:
        """Read field lines until the body begins. Return the number of the body's first line."""
        ends = END in (line.strip() for line in self._lines[number:])
        blank = False
        while number < len(self._lines):
            line = self._lines[number]
            if line.strip() == END:
                return number + 1
            match = _FIELD.fullmatch(line) or _CELLS.fullmatch(line)
            name = key(match["name"]) if match else ""
            if name in self._due or name in KEPT or name == "id":
                text = (match["text"] if match else "") or ""
                if name == "id":
                    self._set_title(text)
                else:
                    self._pairs.append((number + 1, name, [text]))
            elif self._continues(line):
                self._pairs[-1][2].append(line)
            elif line.strip() and not line.startswith(("#", "|")):
                if not ends and (blank or not match):
                    return number
                self._pairs.append((number + 1, match["name"] if match else line, [""]))
            elif line.startswith("#") and self._pairs and not ends:
                return number
            blank = not line.strip()
            number += 1
        return number

    def _continues(self, line: str) -> bool:
        """Return whether a line continues the value of the previous field."""
        if not self._pairs or not line.strip():
            return False
        parts = self._pairs[-1][2]
        open_brackets = sum(part.count("[") + part.count("{") - part.count("]") - part.count("}") for part in parts)
        is_block = parts[0].strip() in _BLOCK or len(parts) > 1
        return open_brackets > 0 or line[0] == " " or (is_block and line.startswith("- "))
