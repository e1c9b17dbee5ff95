"""The desk's pages: today, what waits for the PM, Views, Expressions, decisions, and how all of it came out.

Every page takes `?as_of=` and shows the desk of that instant; without it, of now. Reading changes nothing; a replay is
a POST, and writes nothing either. What the PM decides is in `deciding`.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import BaseRoute, Route

from forge.web.pictures import calibration_charts, counterfactual_sparkline, trade_charts
from forge.web.remembered import Day
from pitlake import clock
from pitlake.charts import HALF_WIDTH, Svg, line_chart, sparkline
from pitlake.clock import iso
from pitlake.errors import PitlakeError, for_agents
from pitlake.lake.lake import Lake

LINKS = (
    ("/desk", "Today"),
    ("/desk/approvals", "Approvals"),
    ("/desk/calibration", "Calibration"),
    ("/desk/ledger", "Ledger"),
    ("/desk/skills", "Skills"),
)
DAY = timedelta(days=1)
TEMPLATES = Path(__file__).with_name("templates")


class DeskPages:
    """Its pages. lake: the market's."""

    def __init__(self, templates: jinja2.Environment, lake: Lake) -> None:
        self._templates, self._lake = templates, lake

    def routes(self) -> list[BaseRoute]:
        """Their addresses."""
        return [
            Route("/desk", self.today),
            Route("/desk/approvals", self.approvals),
            Route("/desk/calibration", self.calibration),
            Route("/desk/ledger", self.ledger),
            Route("/desk/skills", self.skills),
            Route("/desk/v/{name}", self.view),
            Route("/desk/e/{name}", self.expression),
            Route("/desk/d/{name}", self.decision),
            Route("/desk/d/{name}/replay", self.replay, methods=["POST"]),
        ]

    def today(self, request: Request) -> HTMLResponse:
        """What needs the PM, the newest brief, what was written since the day before, and all that is remembered."""
        with self.day(request) as day:
            views = day.all("views")
            return self.page(
                request,
                "desk.html",
                day,
                views=views,
                sparks={texts[-1].record.id: _sparkline(texts) for texts in views},
                expressions=day.all("expressions"),
                decisions=day.decisions(),
                waiting=day.waiting(),
                brief=day.brief(),
                lately=day.written(DAY),
            )

    def approvals(self, request: Request) -> HTMLResponse:
        """What waits for the PM: the draft, its review, the guardrails and the hash of exactly that."""
        with self.day(request) as day:
            return self.waiting(request, day)

    def waiting(self, request: Request, day: Day, problem: str = "", status: int = 200) -> HTMLResponse:
        """The same page, with what came in a decision's way."""
        found = day.waiting()
        measures = {one.expression.id: day.measures(one.expression) for one in found}
        told = {"waiting": found, "measures": measures, "problem": problem, "lessons": day.lessons()}
        return self.page(request, "approvals.html", day, status, **told)

    def calibration(self, request: Request) -> HTMLResponse:
        """How forecasts came out: each category's curve, with the ground where right forecasts fall by chance."""
        with self.day(request) as day:
            measured = [(one, *calibration_charts(one)) for one in day.calibrations()]
            return self.page(request, "calibration.html", day, measured=measured)

    def ledger(self, request: Request) -> HTMLResponse:
        """What was not done and what would have become of it, beside what was done."""
        with self.day(request) as day:
            found = day.counterfactuals()
            sparks = {one.id: counterfactual_sparkline(one) for one in found}
            return self.page(request, "ledger.html", day, ledger=found, sparks=sparks, outcomes=day.outcomes())

    def skills(self, request: Request) -> HTMLResponse:
        """The skills in force, and the changes of them that were proposed by the day."""
        with self.day(request) as day:
            return self.proposed(request, day)

    def proposed(self, request: Request, day: Day, problem: str = "", status: int = 200) -> HTMLResponse:
        """The same page, with what came in a decision's way."""
        found = [(texts[-1], day.patch(texts[-1].record)) for texts in day.all("proposals")]
        told = {"skills": day.skills(), "proposals": found, "problem": problem}
        return self.page(request, "skills.html", day, status, **told)

    def view(self, request: Request) -> HTMLResponse:
        """A View: confidence over time, scenarios, what would kill it, its Expressions."""
        with self.day(request) as day:
            texts = day.texts("views", request.path_params["name"])
            values = [(text.at, text.record.confidence) for text in texts]
            drawn = line_chart(values, day.at, HALF_WIDTH, "Confidence", stepped=True)
            told = texts[-1].record
            return self.page(
                request, "view.html", day, texts=texts, view=told, drawn=drawn, expressions=day.expressions_of(told)
            )

    def expression(self, request: Request) -> HTMLResponse:
        """An Expression: its terms, its risk against each limit, and what became of it beside its stop and target."""
        with self.day(request) as day:
            texts = day.texts("expressions", request.path_params["name"])
            told, course = texts[-1].record, day.course(texts)
            waits = any(one.expression.id == told.id for one in day.waiting())
            return self.page(
                request,
                "expression.html",
                day,
                texts=texts,
                expression=told,
                measures=day.measures(told),
                waits=waits,
                course=course,
                drawn=[] if isinstance(course, str) else trade_charts(told, course, day.at),
            )

    def decision(self, request: Request) -> HTMLResponse:
        """A decision: what it rests on and what became of it, its receipt and its tape."""
        with self.day(request) as day:
            return self._decision(request, day, "")

    def replay(self, request: Request) -> HTMLResponse:
        """The same page, the decision made again from its tape."""
        with self.day(request) as day:
            begun = day.decision(request.path_params["name"]).begun
            agent = day.desk.agent(day.memory_of(begun), day.lake.root)
            try:
                asyncio.run(agent.replay(begun.name))
            except PitlakeError as differs:
                return self._decision(request, day, for_agents(differs))
            return self._decision(request, day, "0 differences")

    @contextmanager
    def day(self, request: Request) -> Iterator[Day]:
        """The desk of the instant that an address names. Raises BadInput for one in the future."""
        now = clock.now()
        at = clock.past(request.query_params["as_of"]) if "as_of" in request.query_params else now
        day = Day.of(at, self._lake)
        try:
            yield day
        finally:
            day.close()

    def page(self, request: Request, template: str, day: Day, status: int = 200, **more: Any) -> HTMLResponse:
        """A page of a day."""
        pinned = "as_of" in request.query_params
        own = request.url.path if request.url.path in dict(LINKS) else "/desk"
        told = {"page": own, "day": day, "pinned": pinned, "at": f"?as_of={iso(day.at)}" if pinned else ""}
        text = self._templates.get_template(template).render(told | {"path": request.url.path} | more)
        return HTMLResponse(text, status)

    def _decision(self, request: Request, day: Day, replayed: str) -> HTMLResponse:
        told = day.decision(request.path_params["name"])
        return self.page(request, "decision.html", day, told=told, replayed=replayed)


def _sparkline(texts: Sequence[Any]) -> Svg:
    return sparkline([text.record.confidence for text in texts], "confidence over time")
