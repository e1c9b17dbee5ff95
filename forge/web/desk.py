"""The desk's pages: today, pending approvals, Views, Expressions, decisions, calibration and the ledger.

Every page accepts `?as_of=` and shows the desk as of that instant (default: now). Reading changes nothing. A replay is
a POST request, which writes nothing either. The module `approving` handles the PM's decisions.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jinja2
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from forge.desk import memories
from forge.web.charts import calibration_charts, counterfactual_sparkline, trade_charts
from forge.web.day import Day
from pitlake import clock
from pitlake.charts import HALF_WIDTH, line_chart, sparkline
from pitlake.clock import iso
from pitlake.errors import BadInput, PitlakeError, choice, for_agents
from pitlake.lake.lake import Lake
from pitlake.web.as_data import render

LINKS = (
    ("/desk", "Today"),
    ("/desk/approvals", "Approvals"),
    ("/desk/calibration", "Calibration"),
    ("/desk/ledger", "Ledger"),
    ("/desk/retrospective", "Retrospective"),
    ("/desk/skills", "Skills"),
    ("/desk/commands", "Commands"),
)
MEMORY = "memory"
TEMPLATES = Path(__file__).with_name("templates")


class DeskPages:
    """The desk's pages. lake: the market's lake."""

    def __init__(self, templates: jinja2.Environment, lake: Lake) -> None:
        self._templates, self._lake = templates, lake

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/desk", self.today),
            Route("/desk/approvals", self.approvals),
            Route("/desk/calibration", self.calibration),
            Route("/desk/ledger", self.ledger),
            Route("/desk/retrospective", self.retrospective),
            Route("/desk/skills", self.skills),
            Route("/desk/v/{name}", self.view),
            Route("/desk/e/{name}", self.expression),
            Route("/desk/d/{name}", self.decision),
            Route("/desk/d/{name}/replay", self.replay, methods=["POST"]),
        ]

    def today(self, request: Request) -> Response:
        """Show P&L, positions, risk, items that need the PM, changes since the last session, and all of memory."""
        with self.day(request) as day:
            views, expressions = day.all("views"), day.all("expressions")
            return self.page(
                request,
                "desk.html",
                day,
                morning=day.morning.as_json() | {"alerts": day.alerts},
                views=views,
                sparks={
                    texts[-1].record.id: sparkline([text.record.confidence for text in texts], "confidence over time")
                    for texts in views
                },
                scopes={texts[-1].record.id: texts[-1].record.scope for texts in views},
                trades={each.id: f"{each.direction} {each.instrument}" for (*_, (_, each)) in expressions},
                expressions=expressions,
                decisions=day.decisions(),
                waiting=day.waiting(),
                brief=day.brief(),
                lately=day.written(),
            )

    def approvals(self, request: Request) -> Response:
        """Show the Expressions that wait for approval, with review, guardrails and hash."""
        with self.day(request) as day:
            return self.waiting(request, day)

    def waiting(self, request: Request, day: Day, problem: str = "", status: int = 200) -> Response:
        """Return the page of approvals. problem: why the last decision was not recorded."""
        items = day.waiting()
        risks = {item.expression.id: day.risk(item.expression) for item in items}
        context = {"waiting": items, "risks": risks, "problem": problem, "lessons": day.lessons()}
        return self.page(request, "approvals.html", day, status, **context)

    def calibration(self, request: Request) -> Response:
        """Show the results of forecasts by category."""
        with self.day(request) as day:
            measured = [(calibration, *calibration_charts(calibration)) for calibration in day.calibrations()]
            return self.page(request, "calibration.html", day, measured=measured)

    def ledger(self, request: Request) -> Response:
        """Show counterfactuals and outcomes."""
        with self.day(request) as day:
            counterfactuals = day.counterfactuals()
            sparks = {counterfactual.id: counterfactual_sparkline(counterfactual) for counterfactual in counterfactuals}
            return self.page(
                request, "ledger.html", day, ledger=counterfactuals, sparks=sparks, outcomes=day.outcomes()
            )

    def retrospective(self, request: Request) -> Response:
        """Show taken and untaken trades, calibration curves, and pending lessons."""
        with self.day(request) as day:
            measured = [(calibration, *calibration_charts(calibration)) for calibration in day.calibrations()]
            taken = [outcome.pnl for outcome in day.outcomes() if outcome.pnl is not None]
            # The known results of untaken trades, in percent of the opening price, by kind of decision.
            untaken = defaultdict[str, list[float]](list)
            for each in day.counterfactuals():
                if each.total_return is not None:
                    untaken[each.decision_type].append(100 * each.total_return)
            results: dict[str, Any] = {"taken": taken, "untaken": dict(untaken), "lessons": day.lessons()}
            return self.page(request, "retrospective.html", day, measured=measured, **results)

    def skills(self, request: Request) -> Response:
        """Show the active skills and the proposed changes."""
        with self.day(request) as day:
            return self.proposed(request, day)

    def proposed(self, request: Request, day: Day, problem: str = "", status: int = 200) -> Response:
        """Return the page of skills. problem: why the last decision was not recorded."""
        proposals = [(texts[-1], day.patch(texts[-1].record)) for texts in day.all("proposals")]
        context = {"skills": day.skills(), "proposals": proposals, "problem": problem}
        return self.page(request, "skills.html", day, status, **context)

    def view(self, request: Request) -> Response:
        """Show a View: confidence over time, scenarios, invalidation conditions and Expressions."""
        with self.day(request) as day:
            texts = day.texts("views", request.path_params["name"])
            values = [(text.at, text.record.confidence) for text in texts]
            drawn = line_chart(values, day.at, HALF_WIDTH, "Confidence", stepped=True)
            view = texts[-1].record
            more: dict[str, Any] = {"expressions": day.expressions_of(view), "settlements": day.settlements_of(view)}
            return self.page(request, "view.html", day, texts=texts, view=view, drawn=drawn, **more)

    def expression(self, request: Request) -> Response:
        """Show an Expression: terms, risk against each limit, and its return with stop and target."""
        with self.day(request) as day:
            texts = day.texts("expressions", request.path_params["name"])
            expression, course = texts[-1].record, day.course(texts)
            waits = any(item.expression.id == expression.id for item in day.waiting())
            return self.page(
                request,
                "expression.html",
                day,
                texts=texts,
                expression=expression,
                figures=day.figures(expression),
                waits=waits,
                course=course,
                drawn=[] if isinstance(course, str) else trade_charts(expression, course, day.at),
            )

    def decision(self, request: Request) -> Response:
        """Show a decision: lineage, receipt and tape."""
        with self.day(request) as day:
            return self._decision(request, day, "")

    def replay(self, request: Request) -> Response:
        """Repeat a decision from its tape and show the differences."""
        from forge.evolution.proposing import replay

        with self.day(request) as day:
            start = day.decision(request.path_params["name"]).start
            agent = day.desk.agent(day.memory_of(start), day.lake.root)
            try:
                asyncio.run(replay(agent, start.name))
            except PitlakeError as differs:
                return self._decision(request, day, for_agents(differs))
            return self._decision(request, day, "0 differences")

    @contextmanager
    def day(self, request: Request) -> Iterator[Day]:
        """Open the desk as of the instant of a request. Raises BadInput for the future, or an unknown memory."""
        at = clock.past(request.query_params["as_of"]) if "as_of" in request.query_params else None
        name = request.query_params.get(MEMORY)
        roots = memories() if name else {}
        if name and name not in roots:
            raise BadInput(MEMORY, f"there is no memory {name[:40]!r}", choice(name, list(roots)))
        day = Day.of(at, self._lake, roots[name] if name else None)
        try:
            yield day
        finally:
            day.close()

    def page(self, request: Request, template: str, day: Day, status: int = 200, **more: Any) -> Response:
        memory, path = request.query_params.get(MEMORY), request.url.path
        moment = {"as_of": iso(day.at)} if "as_of" in request.query_params else {}
        facts = {"page": path if path in dict(LINKS) else "/desk", "as_of": day.at, "path": path, MEMORY: memory} | more
        frame = {
            "day": day,
            "elsewhere": bool(moment or memory),
            "pinned": bool(moment or memory or day.desk.run),
            "at": _query(moment | ({MEMORY: memory} if memory else {})),
            "memories": {name: _query(moment | {MEMORY: name}) for name in memories()},
        }
        return render(self._templates, request, template, facts, status=status, **frame)

    def _decision(self, request: Request, day: Day, replayed: str) -> Response:
        decision = day.decision(request.path_params["name"])
        return self.page(
            request, "decision.html", day, decision=decision, replayed=replayed, books=day.books(decision.start)
        )


def _query(parts: dict[str, str]) -> str:
    return "?" + urlencode(parts, safe=":") if parts else ""
