"""The results as one HTML page that opens offline, with an SVG picture of classes by systems."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from asofbench.generate import group
from asofbench.grading import CAUGHT, LEAK, REFUSED, UNABLE, WITHHELD
from asofbench.report import COLUMNS, WORDS, cells

CELL, LEFT, TOP = 26, 190, 210
COLOURS = {LEAK: "#c0392b", WITHHELD: "#d99a1c", REFUSED: "#8a8f98", CAUGHT: "#2f855a", UNABLE: "#e8eaed"}
VERBS = {LEAK: "leaks", WITHHELD: "withholds", REFUSED: "refuses", CAUGHT: "right", UNABLE: "not applicable"}
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 112rem; margin: 2rem auto; padding: 0 1rem; color: #1c2126; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .25rem .6rem; text-align: left; border-bottom: 1px solid #d7dbe0; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
svg { color: inherit; } .wide { overflow-x: auto; }
@media (prefers-color-scheme: dark) {
  body { background: #14171a; color: #e3e6e8; } th, td { border-color: #3a4046; }
}
"""


def page(report: Mapping[str, Any]) -> str:
    """Return the whole page."""
    systems = [system for system in report["systems"] if not system["control"]]
    frozen = "cases and graders as frozen" if report["frozen"] else "not as frozen"
    summary = f"{len(report['classes'])} classes of leaks, {len(systems)} systems"
    rows = ""
    for system in report["systems"]:
        name, configuration, *numbers = map(escape, cells(system))
        columns = "".join(f"<td class='n'>{number}</td>" for number in numbers)
        rows += f"<tr><th scope='row'>{name}</th><td>{configuration}</td>{columns}</tr>"
    head = "".join(f"<th scope='col'>{name}</th>" for name in COLUMNS)
    absent = "; ".join(f"{system['name']} ({' '.join(system['why'].split())[:200]})" for system in report["not_run"])
    not_run = f" Not run: {absent}." if absent else ""
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>AsOfBench: who sees the future?</title><style>{STYLE}</style>
<h1>AsOfBench: who sees the future?</h1>
<p>{summary}, {report["date"][:10]}, seed {escape(report["seed"])}, {frozen}.</p>
<div class="wide">{picture(systems, list(report["classes"]))}</div>
<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>
<p>{escape(WORDS)}
Classes that a loader decides have a star. Empty squares: the class was not run.
Controls are systems whose score is known beforehand.{escape(not_run)}</p>
</html>
"""


def picture(systems: Sequence[Mapping[str, Any]], classes: Sequence[str]) -> str:
    """Draw one square per class and system, divided by the outcomes of its cases."""
    width, height = max(LEFT + CELL * len(systems) + 130, LEFT + 560), TOP + CELL * len(classes) + 40
    title = f"Who sees the future: {len(classes)} classes of leaks by {len(systems)} systems"
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}'",
        f" role='img' font-family='system-ui, sans-serif' font-size='12' fill='currentColor'><title>{title}</title>",
    ]
    for place, system in enumerate(systems):
        turned = f"translate({LEFT + CELL * place + CELL / 2 + 4} {TOP - 8}) rotate(-55)"
        parts.append(f"<text transform='{turned}'>{escape(system['name'])}</text>")
    for line, name in enumerate(classes):
        y, label = TOP + CELL * line, escape(name.replace("_", " ")) + ("*" if group(name) == "loader" else "")
        parts.append(f"<text x='{LEFT - 8}' y='{y + 17}' text-anchor='end'>{label}</text>")
        parts += [_square(LEFT + CELL * place, y, system, name) for place, system in enumerate(systems)]
    for place, (verdict, colour) in enumerate(COLOURS.items()):
        x, y = LEFT + 110 * place, height - 24
        parts.append(f"<rect x='{x}' y='{y}' width='14' height='14' fill='{colour}'/>")
        parts.append(f"<text x='{x + 20}' y='{y + 12}'>{VERBS[verdict]}</text>")
    return "".join(parts) + "</svg>"


def _square(x: int, y: int, system: Mapping[str, Any], name: str) -> str:
    counts = system["by_class"].get(name, {})
    total, at, side = sum(counts.values()) or 1, float(y + 1), CELL - 2
    title = ", ".join(f"{VERBS[verdict]} {counts[verdict]}" for verdict in COLOURS if counts.get(verdict))
    parts = [f"<g><title>{escape(system['name'])}, {escape(name)}: {title}</title>"]
    for verdict, colour in COLOURS.items():
        if counts.get(verdict):
            high = side * counts[verdict] / total
            parts.append(f"<rect x='{x + 1}' y='{at:.1f}' width='{side}' height='{high:.1f}' fill='{colour}'/>")
            at += high
    return "".join(parts) + "</g>"


def badge(system: Mapping[str, Any]) -> str:
    """Draw a badge: the classes that are right, and those that leak."""
    parts = [part for name, part in system["groups"].items() if name != "clock"]
    right, number, leaks = sum(part["right"] for part in parts), sum(part["of"] for part in parts), len(system[LEAK])
    text = f"{right} of {number} classes, {leaks} leak{'' if leaks == 1 else 's'}"
    colour = COLOURS[LEAK] if leaks else COLOURS[CAUGHT] if right == number else COLOURS[WITHHELD]
    width = 78 + 7 * len(text)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='20' role='img' font-size='11' fill='#fff'"
        f" font-family='Verdana, sans-serif'><title>AsOfBench: {escape(text)}</title>"
        f"<rect width='76' height='20' rx='3'"
        f" fill='#444'/><rect x='72' width='{width - 72}' height='20' rx='3' fill='{colour}'/>"
        f"<text x='6' y='14'>AsOfBench</text><text x='78' y='14'>{escape(text)}</text></svg>"
    )
