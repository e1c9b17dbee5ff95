"""Lists the figures in an output, each with the fetched row that proves it, or marked as unproven."""

import json
import re
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


class CitedFigure(NamedTuple):
    """A figure as written, and its source; "" if no fetched row contains it."""

    text: str
    where: str


def figure_ledger(text: str, fs: ReadFS, sections: tuple[str, ...] = CAPITAL) -> str:
    """List the figures of the sections (default: the whole text), one per line, with their sources."""
    lines = [f"- {figure.text}: {figure.where or 'UNPROVEN'}" for figure in figures(text, fs, sections)]
    return "\n".join([HEADING, *(lines or ["none"])])


def figures(text: str, fs: ReadFS, sections: tuple[str, ...] = CAPITAL) -> list[CitedFigure]:
    """Return the figures of the sections, each once, in order, without judgements such as a confidence."""
    prose = "\n".join(section(text, name) for name in sections) if sections else text
    prose = _NAMES.sub(" ", _JUDGED.sub(" ", prose))
    rows = list[tuple[str, str, Any]]()
    for entry in fs.list_dir(CONTEXT) if fs.exists(CONTEXT) else ():
        if not entry.name.startswith("ctx_"):
            continue
        try:
            answer = json.loads(fs.read_file(CONTEXT + entry.name))
            receipts = ", ".join(str(receipt["answer"])[:12] for receipt in answer["receipts"])
            data_rows = [row for row in answer["data"] if isinstance(row, dict)]
        except (ValueError, KeyError, TypeError):
            continue  # Some sources' answers have no rows.
        name = entry.name.removesuffix(".md")
        rows += [(f"{name} row {number}", receipts, row) for number, row in enumerate(data_rows, start=1)]
    return [CitedFigure(figure, _where(figure, rows)) for figure in dict.fromkeys(_FIGURE.findall(prose))]


def _where(figure: str, rows: list[tuple[str, str, Any]]) -> str:
    plain = figure.replace(",", "").replace("−", "-").rstrip("%")
    decimals = len(plain.partition(".")[2])
    target = float(plain)
    for place, receipt, row in rows:
        for name, value in row.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            values = (value, value * 100) if figure.endswith("%") else (value,)
            if any(isclose(round(candidate, decimals), target, rel_tol=0, abs_tol=1e-12) for candidate in values):
                evidence = row.get("evidence")
                cited = f", evidence {evidence}" if evidence else ""
                return f"{place}, {name}{cited}, receipt {receipt or 'none: computed from given numbers'}"
    return ""
