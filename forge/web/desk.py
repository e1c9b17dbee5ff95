"""The desk's pages: Views, Expressions, decisions with what they rest on, calibration where any was measured.

Every page takes `?as_of=` and shows the desk of that instant; without it, of now. Reading changes nothing; a replay is
a POST, and writes nothing either.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import BaseRoute, Route

from forge.agent import Agent
from forge.model.routing import Routing
from forge.web.remembered import Day
from pitlake import clock
from pitlake.clock import instant, iso
from pitlake.errors import BadInput, PitlakeError, for_agents
from pitlake.web.app import Room
from pitlake.web.plots import HALF, NARROW, spark, steps


class Desk:
    """Its pages."""

    def __init__(self, templates: jinja2.Environment) -> None:
        self._templates = templates

    def routes(self) -> list[BaseRoute]:
        """Its addresses."""
        return [
            Route("/desk", self.today),
            Route("/desk/v/{name}", self.view),
            Route("/desk/e/{name}", self.expression),
            Route("/desk/d/{name}", self.decision),
            Route("/desk/d/{name}/replay", self.replay, methods=["POST"]),
        ]

    def today(self, request: Request) -> HTMLResponse:
        """What the desk holds: Views with their confidence over time, Expressions, decisions."""
        with _day(request) as day:
            views = day.all("views")
            return self._page(
                request,
                "desk.html",
                day,
                views=views,
                sparks={texts[-1].record.id: _spark(texts) for texts in views},
                expressions=day.all("expressions"),
                decisions=day.decisions(),
                calibrations=day.calibrations(),
            )

    def view(self, request: Request) -> HTMLResponse:
        """A View: confidence over time, scenarios, what would kill it, its Expressions."""
        with _day(request) as day:
            texts = day.texts("views", request.path_params["name"])
            values = [(text.at, text.record.confidence) for text in texts]
            drawn = [steps(values, day.at, frame, kind) for frame, kind in ((HALF, "wide"), (NARROW, "narrow"))]
            told = texts[-1].record
            return self._page(
                request, "view.html", day, texts=texts, view=told, drawn=drawn, expressions=day.expressions_of(told)
            )

    def expression(self, request: Request) -> HTMLResponse:
        """An Expression: its terms, and its risk against each limit."""
        with _day(request) as day:
            texts = day.texts("expressions", request.path_params["name"])
            told = texts[-1].record
            return self._page(
                request, "expression.html", day, texts=texts, expression=told, measures=day.measures(told)
            )

    def decision(self, request: Request) -> HTMLResponse:
        """A decision: what it rests on and what became of it, its receipt and its tape."""
        with _day(request) as day:
            return self._decision(request, day, "")

    def replay(self, request: Request) -> HTMLResponse:
        """The same page, the decision made again from its tape."""
        with _day(request) as day:
            begun = day.decision(request.path_params["name"]).begun
            agent = Agent(day.memory_of(begun), day.tape, Routing().model)
            try:
                asyncio.run(agent.replay(begun.name))
            except PitlakeError as differs:
                return self._decision(request, day, for_agents(differs))
            return self._decision(request, day, "0 differences")

    def _decision(self, request: Request, day: Day, replayed: str) -> HTMLResponse:
        told = day.decision(request.path_params["name"])
        return self._page(request, "decision.html", day, told=told, replayed=replayed)

    def _page(self, request: Request, template: str, day: Day, **more: Any) -> HTMLResponse:
        pinned = "as_of" in request.query_params
        address = f"?as_of={iso(day.at)}" if pinned else ""
        told = {"page": "/desk", "day": day, "pinned": pinned, "at": address, "path": request.url.path, **more}
        return HTMLResponse(self._templates.get_template(template).render(told))


@contextmanager
def _day(request: Request) -> Iterator[Day]:
    """The desk of the instant that an address names. Raises BadInput for one in the future."""
    now = clock.now()
    at = instant(request.query_params["as_of"]) if "as_of" in request.query_params else now
    if at > now:
        raise BadInput("as_of", "lies in the future", "nothing of it is remembered: ask as of an instant that has been")
    day = Day.of(at)
    try:
        yield day
    finally:
        day.close()


def _spark(texts: Sequence[Any]) -> Any:
    return spark([text.record.confidence for text in texts], "confidence over time")


def _routes(templates: jinja2.Environment) -> list[BaseRoute]:
    return Desk(templates).routes()


room = Room("Desk", (("/desk", "Views and Expressions"),), Path(__file__).with_name("templates"), _routes)
