"""Every figure where capital is decided: the row it stands in, and what was asked for that, or that it is unproven."""

import json
import re
from collections.abc import Iterator
from math import isclose
from typing import Any, NamedTuple

from forge.agent.tools.text import section
from forge.fs import ReadFS

CONTEXT = "/session/context/"
CAPITAL = ("SUMMARY", "VIEW UPDATES", "EXPRESSION IMPLICATIONS")
HEADING = "## FIGURES"
_JUDGED = re.compile(
    r"^[ \t-]*(view_id|expression_id|(prior|updated)_\w+|direction|scenario|action|urgency):.*$", re.MULTILINE
)
_NAMES = re.compile(r"\b([A-Z]+-\d+|ctx_\d+|\d{4}-\d{2}(-\d{2})?(T[\d:.]+Z?)?|\d{4}Q[1-4]|Q[1-4])\b")
_FIGURE = re.compile(r"(?<![\w.,])[-+−]?\d[\d,]*(?:\.\d+)?%?(?![\w]|\.\d)")


class Figure(NamedTuple):
    """A figure as it is written, and where it stands; "" where nothing that was fetched holds it."""

    text: str
    where: str


def ledger(text: str, fs: ReadFS, sections: tuple[str, ...] = CAPITAL) -> str:
    """A line for each figure of the sections; of the whole text where none is named."""
    told = [f"- {one.text}: {one.where or 'UNPROVEN'}" for one in figures(text, fs, sections)]
    return "\n".join([HEADING, *(told or ["none"])])


def figures(text: str, fs: ReadFS, sections: tuple[str, ...] = CAPITAL) -> list[Figure]:
    """The figures of the sections, each once, in their order. Judgements, such as a confidence, are none."""
    told = "\n".join(section(text, name) for name in sections) if sections else text
    told = _NAMES.sub(" ", _JUDGED.sub(" ", told))
    rows = list(_rows(fs))
    return [Figure(one, _where(one, rows)) for one in dict.fromkeys(_FIGURE.findall(told))]


def _rows(fs: ReadFS) -> Iterator[tuple[str, str, Any]]:
    """Every row that was fetched: where it stands, the receipt of its answer, and the row."""
    if not fs.exists(CONTEXT):
        return
    for entry in fs.list_dir(CONTEXT):
        if not entry.name.startswith("ctx_"):
            continue
        try:
            told = json.loads(fs.read_file(CONTEXT + entry.name))
            receipts = ", ".join(str(one["answer"])[:12] for one in told["receipts"])
            rows = [row for row in told["data"] if isinstance(row, dict)]
        except (ValueError, KeyError, TypeError):
            continue  # not every source's answer has rows
        name = entry.name.removesuffix(".md")
        yield from ((f"{name} row {number}", receipts, row) for number, row in enumerate(rows, start=1))


def _where(figure: str, rows: list[tuple[str, str, Any]]) -> str:
    plain = figure.replace(",", "").replace("−", "-").rstrip("%")
    decimals = len(plain.partition(".")[2])
    asked = float(plain)
    for place, receipt, row in rows:
        for name, value in row.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            values = (value, value * 100) if figure.endswith("%") else (value,)
            if any(isclose(round(one, decimals), asked, rel_tol=0, abs_tol=1e-12) for one in values):
                evidence = row.get("evidence")
                cited = f", evidence {evidence}" if evidence else ""
                return f"{place}, {name}{cited}, receipt {receipt or 'none: made of numbers that were given'}"
    return ""
