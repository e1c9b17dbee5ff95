"""The page of walk-forward runs: decisions, P&L against limits, calibration, exposed beside clean, masked beside plain.

Made from their memories and tapes alone, as HTML that needs nothing else.
"""

from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from forge.model.budget import of_all
from forge.records import KINDS, Calibration, Outcome, Portfolio, Settlement, View
from forge.tracking.settlement import ANSWERED, hydrated, settlements
from forge.walk.plan import Walk
from forge.walk.run import Ground, receipts
from pitlake.clock import new_york_day

EXPOSURES = ("clean", "partial", "exposed")


@dataclass(frozen=True)
class Shown:
    """One run. exposures: decisions of each; pnl: by Outcome, percent of capital, with its sum so far; gross,
    most_gross: the most the book held and the limit; judged: count and Brier score by exposure; views: confidence by
    day and scope.
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


def page(walks: list[Walk], ground: Ground) -> str:
    """The HTML of these runs."""
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    shown = [_shown(one, ground) for one in walks]
    style = files("pitlake.web").joinpath("static/pitlake.css").read_text(encoding="utf-8")
    told = {"runs": shown, "pairs": _pairs(shown), "exposures": EXPOSURES, "style": Markup(style)}  # noqa: S704 - ours
    return templates.get_template("report.html").render(told)


def _shown(walk: Walk, ground: Ground) -> Shown:
    tape = ground.tape(walk)
    decided = receipts(tape)
    with closing(ground.memory(walk, walk.ends)) as memory:
        known = hydrated(memory, walk.ends)
    newest = {
        name: [known.record(row) for path in known.paths(KINDS[name].folder) if (row := known.newest(path))]
        for name in ("outcomes", "calibration", "views")
    }
    books = [cast("Portfolio", known.record(row)) for row in known.all(KINDS["portfolio"].path("state"))]
    total, pnl = 0.0, []
    for one in cast("list[Outcome]", newest["outcomes"]):
        total += one.pnl or 0.0
        pnl.append((one, total))
    judged = [one for one in settlements(known) if one.status in ANSWERED and not one.restates]
    by = {name: [one for one in judged if one.exposure == name] for name in EXPOSURES}
    return Shown(
        walk=walk,
        decisions=decided,
        exposures=Counter(one["exposure"] for one in decided),
        pnl=pnl,
        gross=max((one.gross or 0.0 for one in books), default=0.0),
        most_gross=ground.config.guardrails.max_gross,
        judged={name: (len(of), _brier(of)) for name, of in by.items()},
        marks=cast("list[Calibration]", newest["calibration"]),
        views={
            f"{new_york_day(one.updated)} {one.scope}": one.confidence
            for one in cast("list[View]", newest["views"])
            if one.updated
        },
        spent=of_all(tape, ground.config).told(),
    )


def _brier(judged: list[Settlement]) -> float | None:
    return sum((one.probability - (one.status == "came_true")) ** 2 for one in judged) / len(judged) if judged else None


def _pairs(shown: list[Shown]) -> list[tuple[Shown, Shown, float | None]]:
    """Runs of one period, plain and masked, with the mean difference of what they thought of the same days' Views."""
    plain = {(one.walk.since, one.walk.until): one for one in shown if not one.walk.masked}
    found = []
    for one in shown:
        other = plain.get((one.walk.since, one.walk.until))
        if one.walk.masked and other:
            both = one.views.keys() & other.views.keys()
            moved = [abs(one.views[name] - other.views[name]) for name in both]
            found.append((other, one, sum(moved) / len(moved) if moved else None))
    return found
