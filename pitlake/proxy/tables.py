"""Finds the rows of tables: in a text (CSV, Markdown, HTML, columns of blanks), and in lists beside names of columns.

It also finds the values in a text whose name is beside them: elements and attributes of XML, and lines such as
`Last updated: …`.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import groupby
from typing import Any

NAMING = ("name", "key", "label", "field", "property", "Name", "Key", "k", "id")
_HEADS = ("columns", "fields", "headers", "header", "column_names", "columnNames", "cols", "rowType")
_ROW_ENDS, _CELL_ENDS = re.compile(r"</tr\s*>", re.IGNORECASE), re.compile(r"</t[dh]\s*>", re.IGNORECASE)
_TAG, _BLANKS = re.compile(r"<[^<>]{1,300}>"), re.compile(r"\t|[ \xa0]{2,}")
_ELEMENT = re.compile(r"<([\w:.-]{1,40})(?:\s[^<>]{0,300})?>\s*(?:<!\[CDATA\[)?([^<>]{4,100}?)(?:\]\]>)?\s*</\1\s*>")
_ATTRIBUTE = re.compile(r"\s([\w:.-]{2,40})=[\"']([^\"'<>]{4,100})[\"'](?=[^<>]{0,300}>)")
_CHANGE_LINE = re.compile(
    r"^\W{0,4}(?:last[ _-])?(?:updated|modified|edited|changed|revised|amended|corrected|dtstamp)(?: on| at)?\s*:?\s*"
    r"(\S[^\n]{5,80})$",
    re.IGNORECASE | re.MULTILINE,
)
_INSTANTS = (range(946_684_800_000, 4_102_444_800_000), range(946_684_800_000_000, 4_102_444_800_000_000))
_SECONDS = range(946_684_800, 2_600_000_000)


def tables_in(text: str) -> Iterator[list[list[str]]]:
    """Yield the rows of each table in a text, the names of the columns first."""
    if _ROW_ENDS.search(text):
        text = _TAG.sub("", _ROW_ENDS.sub("\n", _CELL_ENDS.sub("\t", text.replace("\n", " "))))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for mark in (",", ";"):
        if len(lines) > 2 and mark in lines[0]:
            with suppress(csv.Error):
                rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=mark)]
                yield from [rows] if len({len(row) for row in rows}) == 1 else []
    for is_used, split in (("|" in text, re.compile(r"\|").split), (bool(_BLANKS.search(text)), _BLANKS.split)):
        for width, group in groupby(([cell.strip() for cell in split(line)] for line in lines if is_used), key=len):
            rows = list(group)
            begins_with_digit = rows[-1][0][:1].isdigit()
            is_table = len(rows) > 1 and (width > 2 or len(rows) == len(lines))  # not `Date:  22 February`
            if width > 1 and (is_table or begins_with_digit):
                yield rows


def named_values(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values that a text states as XML, and as lines about its last change."""
    if "</" in text or "/>" in text:
        for shape in (*_ELEMENT.finditer(text), *_ATTRIBUTE.finditer(text)):
            yield shape[1], shape[2].strip()
    for line in _CHANGE_LINE.finditer(text) if "\n" in text else ():
        yield "updated", line[1].strip()


def heads_of(members: Mapping[str, Any]) -> list[str]:
    """Return the names of the columns that an object states, or an object in it."""
    for part in (members, *(member for member in members.values() if isinstance(member, dict))):
        for heads in (part[name] for name in _HEADS if isinstance(part.get(name), list)):
            return [head if isinstance(head, str) else _name_in(head) for head in heads]
    return []


def _name_in(head: Any) -> str:
    names = [head[name] for name in NAMING if isinstance(head.get(name), str)] if isinstance(head, dict) else []
    return str(names[0]) if names else ""


def cells_of(row: Any) -> list[Any]:
    """Return the cells of a row: a list, or the only list in an object, as in BigQuery's `{"f": […]}`."""
    if isinstance(row, dict) and len(row) == 1:
        row = next(iter(row.values()))
    return row if isinstance(row, list) else []


def begin_with_instants(rows: list[Any]) -> bool:
    """Return whether rows without named columns seem to begin with counts since 1970.

    So do counts of milliseconds or microseconds, and seconds of which each is later, or each earlier, than the last.
    """
    if not all(isinstance(row, list) and row for row in rows):
        return False
    firsts = [_number_of(row[0]) for row in rows]
    if all(any(first in counts for counts in _INSTANTS) for first in firsts):
        return True
    return len(rows) > 1 and all(first in _SECONDS for first in firsts) and _is_monotonic(firsts)


def _number_of(count: Any) -> int:
    with suppress(ValueError, OverflowError):
        return int(count) if type(count) in (int, float) or (type(count) is str and len(count) < 20) else 0
    return 0


def _is_monotonic(counts: list[int]) -> bool:
    distinct = sorted(set(counts))
    return len(distinct) == len(counts) and counts in (distinct, distinct[::-1])
