"""Finds the rows of tables in text (CSV, Markdown, HTML, aligned columns) and in lists with separate column names.

It also finds named values in text: elements and attributes of XML, members of JSON, and lines such as `Last updated:
…`, `updated: …`, a byline, or the dateline of a release.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import groupby
from typing import Any

from pitlake.proxy.vocabulary import PUBLICATION, without_accents

NAMING = ("name", "key", "label", "field", "property", "Name", "Key", "k", "id")
_HEADS = ("columns", "fields", "headers", "header", "column_names", "columnNames", "cols", "rowType")
_ROW_ENDS, _CELL_ENDS = re.compile(r"</tr\s*>", re.IGNORECASE), re.compile(r"</t[dh]\s*>", re.IGNORECASE)
_TAG, _BLANKS = re.compile(r"<[^<>]{1,300}>"), re.compile(r"\t|[ \xa0]{2,}")
_ELEMENT = re.compile(r"<([\w:.-]{1,40})(?:\s[^<>]{0,300})?>\s*(?:<!\[CDATA\[)?([^<>]{4,100}+)>?\s*</\1\s*>")
_LABEL = f"(?:{'|'.join(PUBLICATION)})"
_TERM = re.compile(
    rf">\s*({_LABEL})\s?:?\s*</(?:dt|b|strong)>[\s:]*(?:<[^<>]{{1,99}}>\s*)?([^<>]{{6,60}})", re.IGNORECASE
)
_OF_CLASS = re.compile(r"=[\"']([\w :.-]{2,60})[\"'][^<>]{0,200}?(?:\scontent=[\"']|>\s*)([^\"'<>]{4,100})")
_VALUE = re.compile(r"[:=>]\s?(?:[\"']([^\"'<>\n]{4,100})[\"']|(\d[^\s\"',;<>}]{5,40}))")
_NAME_BEFORE = re.compile(r"(?<![\w?&/.])([^\W\d][\w:.@-]{0,40})[\"']?\s?$")
_NAMED_LINE = re.compile(
    r"[\s>#|*+:-]*['\"*_`]{0,3}([^\W\d][\w.@-]{0,40})['\"*_`]{0,3}\s?[:=：]['\"*_\s]*(\S[^#]{4,80}?)\s*(?:#.*)?"
)
_PRECISE = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d")
_AGENCY, _DAY = r"(?:\([A-Z][\w .&]+\)|/ ?[A-Z]\w+ ?/)", r"((?:[A-Z][a-z]+\.? \d\d?,?|\d\d? [A-Z][a-z]+) \d{4})"
_LINES_OF_CHANGE = (
    re.compile(
        r"(?:[^|•·]*[|•·])?\W*(?:(?:last|first|date|originally|zuletzt|mise?)[ _-](?:a )?)?"
        rf"{_LABEL}(?: (?:on|at|am|le|el|il|op|om))?[^\w([]+(.*)",
        re.IGNORECASE,
    ),
    re.compile(r"\W*(?:By|Von|Par|Por)\s\D{3,60}?(?:[|•·–—,]| -)\s*((?:[^\W\d]+[.,]*\s){0,3}\d.*)", re.IGNORECASE),
    re.compile(rf"\s*[A-Z]\D{{1,60}}?(?:{_DAY}\s*{_AGENCY}\s?[–—-]|{_AGENCY}[\s–—-]*{_DAY}\s*[/–—-])"),
    re.compile(r"(?:<\d+>\d? ?)?\W?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\s\]]*)"),
    re.compile(r".{0,60}?\[(\d\d/\w{3}/\d{4}(?::\d\d){3} [+-]\d{4})\]"),
)
_HAS_DAY = re.compile(r"\d(?:\d{3}|\d?[/.-]\d\d?[/.-]\d\d)")
_PART_OF_LINE = re.compile(r"(?:^|[|•·])\s*(.+?)\s*(?=[|•·]|\b(?:by|in)\b|$)")
_LONGEST_LINE, _LOG_STARTS = 120, "0123456789<[("
_INSTANTS = tuple(range(946_684_800 * unit, 4_102_444_800 * unit) for unit in (10**3, 10**6, 10**9))
_SECONDS = range(946_684_800, 2_600_000_000)
_DIGITS_OF_CLOCKS = range(1990_0101_000000, 2100_0101_000000)


def tables_in(text: str) -> Iterator[list[list[str]]]:
    """Yield the rows of each table in a text, starting with the names of the columns."""
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
    """Yield the named values in a text: in XML, in JSON, and in its lines."""
    for pattern in (_ELEMENT, _OF_CLASS, _TERM) if "</" in text or "/>" in text else ():
        for shape in pattern.finditer(text):
            yield shape[1], shape[2].strip().removesuffix("]]")
    for shape in _VALUE.finditer(text) if "=" in text or '":' in text or "<" in text else ():
        if name := _NAME_BEFORE.search(text, max(0, shape.start() - 44), shape.start()):
            yield name[1], shape[shape.lastindex or 0]
    before = ""
    for number, line in enumerate(text.splitlines()):
        if (not number or len(line) <= _LONGEST_LINE or line[0] in _LOG_STARTS) and _HAS_DAY.search(line):
            byline = f"{before} | " if before[:3] == "By " else ""
            plain_line = without_accents(byline + line)[:_LONGEST_LINE]
            pair = _NAMED_LINE.fullmatch(plain_line)
            if pair and (not pair[1][0].isupper() or _PRECISE.search(pair[2])):  # `Date: March 7, 2024` dates an event.
                yield pair[1], pair[2]
            for shape in filter(None, (pattern.match(plain_line) for pattern in _LINES_OF_CHANGE)):
                for part in _PART_OF_LINE.finditer(shape[shape.lastindex or 0]):
                    yield "updated", part[1]
        before = line


def heads_of(members: Mapping[str, Any]) -> list[str]:
    """Return the names of the columns that an object, or an object in it, states."""
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


def seems_instant(value: Any) -> bool:
    """Return whether a number, or its text, may be a count since 1970 or the digits of a day and a clock."""
    count = _number_of(value)
    return any(count in counts for counts in (_SECONDS, *_INSTANTS, _DIGITS_OF_CLOCKS))


def begin_with_instants(rows: list[Any]) -> bool:
    """Return whether rows without named columns seem to begin with counts since 1970.

    These are milliseconds or microseconds, or seconds that only increase or only decrease.
    """
    if not all(isinstance(row, list) and row for row in rows):
        return False
    firsts = [_number_of(row[0]) for row in rows]
    if all(any(first in counts for counts in _INSTANTS) for first in firsts):
        return True
    if len(rows) < 2 or not all(first in _SECONDS for first in firsts):
        return False
    distinct = sorted(set(firsts))
    return len(distinct) == len(firsts) and firsts in (distinct, distinct[::-1])


def _number_of(count: Any) -> int:
    with suppress(ValueError, OverflowError):
        return int(float(count)) if type(count) in (int, float) or (type(count) is str and len(count) < 25) else 0
    return 0
