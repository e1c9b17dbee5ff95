"""Reads the frontmatter of agents and skills: the part of YAML they use, with the standard library alone.

Maps, lists, quoted and plain scalars, folded texts. What it does not know raises ValueError, so that nothing is read
otherwise than a YAML parser would read it. Called by the linter.
"""

from __future__ import annotations

import json
import re
from typing import Any

_KEY = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):(?: +(.*))?$")
_PLAIN = re.compile(r"[A-Za-z0-9_$./~-][^#&*!|>%@`{}\[\]\"']*$")


def read(text: str) -> tuple[dict[str, Any], str]:
    """The frontmatter of a page and the body under it. Raises ValueError where it is not there or not understood."""
    lines = text.split("\n")
    if lines[0] != "---" or "---" not in lines[1:]:
        raise ValueError("there is none between two lines of ---")
    end = lines.index("---", 1)
    front, rest = _block([line for line in lines[1:end] if line.strip()], 0)
    if rest or not isinstance(front, dict):
        raise ValueError(f"not understood: {rest[:1] or 'it is no map'}")
    return front, "\n".join(lines[end + 1 :])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _block(lines: list[str], depth: int) -> tuple[Any, list[str]]:
    """The value of the lines at this depth and deeper, and the lines that follow it."""
    if not lines or _indent(lines[0]) < depth:
        return None, lines
    depth = _indent(lines[0])
    return _list(lines, depth) if lines[0].lstrip().startswith("- ") else _map(lines, depth)


def _list(lines: list[str], depth: int) -> tuple[list[Any], list[str]]:
    made: list[Any] = []
    while lines and _indent(lines[0]) == depth and lines[0].lstrip().startswith("- "):
        item = lines[0][depth + 2 :]
        if _KEY.match(item):
            value, lines = _map([" " * (depth + 2) + item, *lines[1:]], depth + 2)
        else:
            value, lines = _scalar(item), lines[1:]
        made.append(value)
    return made, lines


def _map(lines: list[str], depth: int) -> tuple[dict[str, Any], list[str]]:
    made: dict[str, Any] = {}
    while lines and _indent(lines[0]) == depth and not lines[0].lstrip().startswith("- "):
        found = _KEY.match(lines[0].strip())
        if found is None or found[1] in made:
            raise ValueError(f"not understood: {lines[0].strip()[:60]}")
        key, told, lines = found[1], found[2], lines[1:]
        if told == ">-":
            folded = []
            while lines and _indent(lines[0]) > depth:
                folded.append(lines.pop(0).strip())
            made[key] = " ".join(folded)
        elif told:
            made[key] = _scalar(told)
        else:
            made[key], lines = _block(lines, depth)
    if lines and _indent(lines[0]) > depth:
        raise ValueError(f"not understood: {lines[0].strip()[:60]}")
    return made, lines


def _scalar(text: str) -> Any:
    text = text.strip()
    if text.startswith('"'):
        return json.loads(text)
    if re.fullmatch(r"'(?:[^']|'')*'", text):
        return text[1:-1].replace("''", "'")
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if text in ("true", "false"):
        return text == "true"
    if not _PLAIN.match(text) or ": " in text:
        raise ValueError(f"not understood: {text[:60]}")
    return text
