"""The report of walk-forward runs: decisions, P&L against limits, calibration, exposed and clean, masked and plain.

Built from their memories and tapes, as one self-contained HTML page.
"""

from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from forge.model.budget import total_spent
from forge.records import KINDS, Calibration, Outcome, Portfolio, Settlement, View
from forge.tracking.settlement import ANSWERED, settlements, whole_memory
from forge.walk.plan import Walk
from forge.walk.run import Ground, receipts
from pitlake.clock import new_york_day

EXPOSURES = ("clean", "partial", "exposed")


@dataclass(frozen=True)
class RunReport:
    """The report of one run.

    exposures: number of decisions by exposure; pnl: by Outcome in percent of capital, with the running sum; gross,
    most_gross: the book's maximum and its limit; judged: count and Brier score by exposure; views: confidence by day
    and scope.
    """

    walk: Walk
    decisions: list[dict[str, Any]]
    exposures: Counter[str]
    pnl: list[tuple[Outcome, float]]
    gross: float
    most_gross: float
    judged: dict[str, tuple[int, float | None]]
    marks: list[Calibration]
    views: dict[str, float]
    spent: str


@dataclass(frozen=True)
class Pair:
    """A run beside its masked one or its repetition.

    moved: the mean difference in confidence of the Views in both, None without any; both, lone: the number of Views in
    both, and in one alone.
    """

    plain: RunReport
    other: RunReport
    moved: float | None
    both: int
    lone: int


def page(walks: list[Walk], ground: Ground) -> str:
    """Return the HTML page of these runs."""
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    run_reports = [_run_report(walk, ground) for walk in walks]
    style = files("pitlake.web").joinpath("static/pitlake.css").read_text(encoding="utf-8")
    values = {
        "runs": run_reports,
        "pairs": _pairs(run_reports),
        "repeated": any(walk.again for walk in walks),
        "exposures": EXPOSURES,
        "style": Markup(style),  # noqa: S704 - ours
    }
    return templates.get_template("report.html").render(values)


def _run_report(walk: Walk, ground: Ground) -> RunReport:
    tape = ground.tape(walk)
    decided = receipts(tape)
    with closing(ground.memory(walk, walk.ends)) as memory:
        remembered = whole_memory(memory, walk.ends)
    newest = {
        name: [
            remembered.record(row) for path in remembered.paths(KINDS[name].folder) if (row := remembered.newest(path))
        ]
        for name in ("outcomes", "calibration", "views")
    }
    books = [cast("Portfolio", remembered.record(row)) for row in remembered.all(KINDS["portfolio"].path("state"))]
    total, pnl = 0.0, []
    for outcome in cast("list[Outcome]", newest["outcomes"]):
        total += outcome.pnl or 0.0
        pnl.append((outcome, total))
    judged = [
        settlement
        for settlement in settlements(remembered)
        if settlement.status in ANSWERED and not settlement.restates
    ]
    by = {name: [settlement for settlement in judged if settlement.exposure == name] for name in EXPOSURES}
    return RunReport(
        walk=walk,
        decisions=decided,
        exposures=Counter(receipt["exposure"] for receipt in decided),
        pnl=pnl,
        gross=max((book.gross or 0.0 for book in books), default=0.0),
        most_gross=ground.config.guardrails.max_gross,
        judged={name: (len(of), _brier(of)) for name, of in by.items()},
        marks=cast("list[Calibration]", newest["calibration"]),
        views={
            f"{new_york_day(view.updated)} {view.scope}": view.confidence
            for view in cast("list[View]", newest["views"])
            if view.updated
        },
        spent=total_spent(tape, ground.config).describe(),
    )


def _brier(judged: list[Settlement]) -> float | None:
    return (
        sum((settlement.probability - (settlement.status == "came_true")) ** 2 for settlement in judged) / len(judged)
        if judged
        else None
    )


def _pairs(run_reports: list[RunReport]) -> list[Pair]:
    """Return each plain run beside its masked one and its repetition."""
    plain = {
        (report.walk.since, report.walk.until): report
        for report in run_reports
        if not report.walk.masked and not report.walk.again
    }
    pairs = []
    for report in run_reports:
        other = plain.get((report.walk.since, report.walk.until))
        if (report.walk.masked or report.walk.again) and other:
            both = report.views.keys() & other.views.keys()
            moved = [abs(report.views[name] - other.views[name]) for name in both]
            lone = len(report.views.keys() ^ other.views.keys())
            pairs.append(Pair(other, report, sum(moved) / len(moved) if moved else None, len(both), lone))
    return pairs
