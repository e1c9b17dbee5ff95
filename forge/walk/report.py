"""The report of walk-forward runs: decisions, P&L against limits, calibration, exposed and clean, masked and plain.

The report is built from their memories and tapes, as one self-contained HTML page.
"""

import json
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass
from importlib.resources import files
from math import prod
from pathlib import Path
from typing import Any, cast

from jinja2 import FileSystemLoader
from markupsafe import Markup

from forge.core.tape import MAIN, WORK
from forge.memory import Remembered
from forge.memory.cash import cash
from forge.model.budget import total_spent
from forge.providers.base import At
from forge.records import KINDS, Calibration, Outcome, Portfolio, View
from forge.tracking.bars import traded_bars
from forge.tracking.ledger import Account
from forge.tracking.settlement import ANSWERED, settlements, whole_memory
from forge.tracking.valuation import value_account
from forge.walk.plan import Walk
from forge.walk.run import Ground, pinned_version, receipts
from pitlake.charts import FULL_WIDTH, Level, Svg, line_chart
from pitlake.clock import new_york_day
from pitlake.errors import BadInput
from pitlake.templates import environment

EXPOSURES = ("clean", "partial", "exposed")
BENCHMARK, PERCENT = "SPY", 100.0
CAPITAL = Level("capital", PERCENT, "axis")


@dataclass(frozen=True)
class DecisionText:
    """A decision's question and answer, to read. receipt: its fields."""

    receipt: dict[str, Any]
    question: str
    answer: str


@dataclass(frozen=True)
class AlertSpan:
    """An alert of a run. since, until: the first and the last instant at which it existed."""

    since: str
    until: str
    kind: str
    subject: str
    text: str


@dataclass(frozen=True)
class Money:
    """The account of a run.

    drawn: charts of the net asset value by day in percent of the capital, for wide and narrow windows. worst: the
    deepest drawdown in percent. benchmark: SPY's return in percent over the same days, None if the lake lacks it. gaps:
    the reasons why some positions are not valued.
    """

    account: Account
    drawn: list[Svg]
    worst: float
    benchmark: float | None
    gaps: tuple[str, ...]


@dataclass(frozen=True)
class RunReport:
    """The report of one run.

    exposures: the number of decisions by exposure. pnl: the P&L by Outcome in percent of capital, with the running sum.
    gross, most_gross: the book's maximum and its limit. judged: count and Brier score by exposure. views: confidence by
    day and scope.
    """

    walk: Walk
    decisions: list[DecisionText]
    exposures: Counter[str]
    pnl: list[tuple[Outcome, float]]
    gross: float
    most_gross: float
    judged: dict[str, tuple[int, float | None]]
    marks: list[Calibration]
    views: dict[str, float]
    spent: str
    money: Money | str
    alerts: list[AlertSpan]


@dataclass(frozen=True)
class RunPair:
    """A run and its masked run or repetition.

    moved: the mean difference in confidence of the Views in both runs, None if there are none. both, lone: the numbers
    of Views in both runs and in only one of them.
    """

    plain: RunReport
    other: RunReport
    moved: float | None
    both: int
    lone: int


def page(walks: list[Walk], ground: Ground) -> str:
    """Return the HTML page of these runs."""
    templates = environment(FileSystemLoader(Path(__file__).parent))
    run_reports = [_run_report(walk, ground) for walk in walks]
    plain = {
        (report.walk.since, report.walk.until): report
        for report in run_reports
        if not report.walk.masked and not report.walk.again
    }
    pairs = []  # each plain run with its masked run and its repetition
    for report in run_reports:
        other = plain.get((report.walk.since, report.walk.until))
        if (report.walk.masked or report.walk.again) and other:
            both = report.views.keys() & other.views.keys()
            moved = [abs(report.views[name] - other.views[name]) for name in both]
            lone = len(report.views.keys() ^ other.views.keys())
            pairs.append(RunPair(other, report, sum(moved) / len(moved) if moved else None, len(both), lone))
    style = files("pitlake.web").joinpath("static/pitlake.css").read_text(encoding="utf-8")
    values = {
        "runs": run_reports,
        "pairs": pairs,
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
    kinds = ("outcomes", "calibration", "views")
    newest = {kind: [remembered.record(row) for row in remembered.rows(kind)] for kind in kinds}
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
    scores = dict[str, tuple[int, float | None]]()
    for name in EXPOSURES:
        of_exposure = [settlement for settlement in judged if settlement.exposure == name]
        squares = [(settlement.probability - (settlement.status == "came_true")) ** 2 for settlement in of_exposure]
        scores[name] = len(squares), sum(squares) / len(squares) if squares else None
    decisions = list[DecisionText]()
    for receipt in decided:
        decision = receipt["decision"]
        answers = [step.answer for step in tape.steps(decision) if (step.lane, step.kind) == (MAIN, "model")]
        answer = str(json.loads(answers[-1])["text"]) if answers else ""
        decisions.append(DecisionText(receipt, str(tape.inputs(decision)["text"]), answer))
    # Alerts are listed by their first instant; an alert that persists is listed once.
    spans: dict[tuple[str, ...], AlertSpan] = {}
    for name in tape.decisions():
        work = tape.receipt(name) if name.startswith(WORK) else None
        for alert in json.loads(work).get("alerts", ()) if work else ():
            at, key = tape.inputs(name)["as_of"], tuple(alert)
            spans[key] = AlertSpan(spans[key].since if key in spans else at, at, *key)
    return RunReport(
        walk=walk,
        decisions=decisions,
        exposures=Counter(receipt["exposure"] for receipt in decided),
        pnl=pnl,
        gross=max((book.gross or 0.0 for book in books), default=0.0),
        most_gross=ground.config.guardrails.max_gross,
        judged=scores,
        marks=cast("list[Calibration]", newest["calibration"]),
        views={
            f"{new_york_day(view.updated)} {view.scope}": view.confidence
            for view in cast("list[View]", newest["views"])
            if view.updated
        },
        spent=total_spent(tape, ground.config).describe(),
        money=_money(remembered, walk, ground),
        alerts=list(spans.values()),
    )


def _money(remembered: Remembered, walk: Walk, ground: Ground) -> Money | str:
    """Return the run's account as of its end, or the reason why there is none."""
    at = At(as_of=walk.ends, lake=ground.lake, version=pinned_version(walk, ground))
    if not cash(remembered):
        return "No account was kept: the settings name no capital."
    valued = value_account(remembered, at)
    curve = [(day, level * PERCENT) for day, level in valued.account.growth()]
    highest, worst = PERCENT, 0.0
    for _, level in curve:
        highest = max(highest, level)
        worst = max(worst, (1 - level / highest) * PERCENT)
    drawn = line_chart(curve, walk.ends, FULL_WIDTH, "Net asset value in percent of the capital", levels=[CAPITAL])
    # The benchmark's price return over the run's days is in percent of the close before them.
    benchmark = None
    with suppress(BadInput):
        prices = traded_bars(BENCHMARK, walk.since, at).prices
        days = [day for day in sorted(prices.closes) if day <= walk.until]
        first = max((day for day in days if day < walk.since), default=next(iter(days), None))
        if first is not None and days[-1] != first:
            shares = prod(ratio for day, ratio in prices.splits.items() if first < day <= days[-1])
            benchmark = (prices.closes[days[-1]] * shares / prices.closes[first] - 1) * PERCENT
    return Money(valued.account, drawn, worst, benchmark, valued.gaps)
