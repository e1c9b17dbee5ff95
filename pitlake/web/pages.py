"""The time machine's pages: each asks what its address names and fills one template. What is seen, sessions decide."""

import json
import re
from datetime import datetime, timedelta
from typing import Any

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from pitlake import charts
from pitlake.answers import receipts
from pitlake.charts import Svg
from pitlake.clock import NEW_YORK, iso
from pitlake.errors import BadInput
from pitlake.web import asked as asking
from pitlake.web import compare, questions, shown
from pitlake.web import history as histories
from pitlake.web.asked import Asked
from pitlake.web.known import QUARTER, Known, known, span
from pitlake.web.pool import Pool
from pitlake.web.shown import Sheet

_RECEIPT = re.compile(r"[0-9a-f]{16}")
MOST_ROWS = 200
WEEKS = 1


class TimeMachine:
    """The pages that need a lake alone. home: where `/` leads."""

    def __init__(self, pool: Pool, templates: jinja2.Environment, home: Asked) -> None:
        self._pool, self._templates, self._home = pool, templates, home

    def routes(self) -> list[Route]:
        """Its addresses."""
        return [
            Route("/", self.start),
            Route("/at", self.at),
            Route("/compare", self.compare),
            Route("/history", self.history),
            Route("/ask", self.ask),
            Route("/r/{receipt}", self.receipt),
        ]

    def start(self, request: Request) -> Response:
        """Where one begins."""
        return RedirectResponse(self._home.address(), 303)

    def at(self, request: Request) -> Response:
        """What was known of a company at T."""
        wanted = asking.asked(request.query_params)
        if wanted.moved:
            return RedirectResponse(wanted.address(), 303)
        with self._pool.session(wanted.as_of) as session:
            told = known(session, wanted)
        return self._page("at.html", wanted, known=told, **_controls(told), **_pictures(told))

    def compare(self, request: Request) -> Response:
        """Two instants side by side, the earlier one first."""
        one = asking.asked(request.query_params)
        other = self._other(request, one)
        if one.moved or "with" not in request.query_params:
            return RedirectResponse(one.address("/compare", **{"with": iso(other.as_of)}), 303)
        first, second = sorted((one, other), key=lambda side: side.as_of)
        sides = []
        for side in (first, second):
            with self._pool.session(side.as_of) as session:
                sides.append(known(session, side))
        before, after = sides
        sheet = Sheet(second)
        return self._page(
            "compare.html",
            second,
            sheet=sheet,
            earlier=sheet.beside(first),
            before=before,
            after=after,
            pairs=compare.figures(before, after),
            revised=compare.revised(before, after),
            events=compare.events(before, after),
            chart=_price_chart(after, first.as_of),
        )

    def history(self, request: Request) -> Response:
        """Every revision of one number that was public by T."""
        wanted, number = asking.asked(request.query_params), histories.number(request.query_params)
        with self._pool.session(wanted.as_of) as session:
            told = histories.history(session, number)
        day = number.day
        triangle = charts.vintage_chart(told.neighbours, day, wanted.as_of, charts.LONG_LABELS) if day else []
        stairs = charts.line_chart(told.values, wanted.as_of, charts.HALF_WIDTH, "The value as known", stepped=True)
        copies = {"SQL": number.sql, "Python": questions.as_python(number.sql, wanted.as_of)}
        copies["Command line"] = questions.as_command(number.sql, wanted.as_of)
        return self._page("history.html", wanted, told=told, triangle=triangle, stairs=stairs, copies=copies)

    def ask(self, request: Request) -> Response:
        """One question of a page: its answer, and how to ask it elsewhere."""
        wanted, question = asking.asked(request.query_params), questions.get(request.query_params.get("question", ""))
        with self._pool.session(wanted.as_of) as session:
            company = session.company(wanted.ticker)
            result = question.ask(session, company.company)
        sql = question.written(company.company)
        copies = {"SQL": sql, "Python": questions.as_python(sql, wanted.as_of)}
        copies["Command line"] = questions.as_command(sql, wanted.as_of)
        return self._page(
            "ask.html",
            wanted,
            question=question,
            columns=result.columns,
            rows=result.rows()[:MOST_ROWS],
            count=len(result),
            notes=company.notes_on(labels=True),
            copies=copies,
            sha256=result.receipt.result_sha256,
        )

    def keep(self, told: dict[str, str]) -> str:
        """Keep a question's receipt; the id. Raises as `ask` does."""
        wanted, question = asking.asked(told), questions.get(told.get("question", ""))
        with self._pool.session(wanted.as_of) as session:
            return question.ask(session, session.company(wanted.ticker).company).keep(self._pool.lake)

    def receipt(self, request: Request) -> Response:
        """A kept receipt's answer, asked again: the same bytes, or what is missing."""
        name = request.path_params["receipt"]
        if not _RECEIPT.fullmatch(name):
            raise BadInput("receipt", "is not the id of one", "`pitlake receipts` lists those that are kept")
        receipt = receipts.find(name, self._pool.lake.root)
        with self._pool.turns.turn():
            result = receipts.replay(receipt, self._pool.lake, isolation=self._pool.isolation)
        page = self._templates.get_template("receipt.html").render(
            page="receipt",
            name=name,
            receipt=receipt,
            columns=result.columns,
            rows=result.rows()[:MOST_ROWS],
            count=len(result),
            parameters=json.loads(receipt.question.parameters),
        )
        return HTMLResponse(page)

    def _other(self, request: Request, one: Asked) -> Asked:
        if "with" in request.query_params:
            return asking.asked({"as_of": request.query_params["with"], "ticker": one.ticker})
        return one.at(one.as_of - timedelta(weeks=WEEKS))

    def _page(self, template: str, wanted: Asked, **more: Any) -> HTMLResponse:
        told = {"asked": wanted, "sheet": Sheet(wanted), "page": template.removesuffix(".html"), **more}
        return HTMLResponse(self._templates.get_template(template).render(told))


def _controls(told: Known) -> dict[str, Any]:
    at = told.asked.as_of
    instants = [one.to for one in told.releases]
    first, last = asking.slider(at, min(instants, default=at))
    local = at.astimezone(NEW_YORK)
    return {
        "back": asking.back(at, told.releases),
        "forward": asking.forward(at),
        "first": first,
        "last": last,
        "local": local,
        "slider": charts.slider_marks(first, last, at, instants),
    }


def _price_chart(told: Known, compared_with: datetime | None = None) -> list[Svg]:
    closes = [(bar.date, bar.adjusted) for bar in told.bars if bar.adjusted is not None]
    return charts.line_chart(
        closes if len(closes) > 1 else [],
        told.asked.as_of,
        charts.FULL_WIDTH if compared_with else charts.TWO_THIRDS,
        "Daily closes",
        events=[release.to for release in told.releases],
        compared_with=compared_with,
    )


def _pictures(told: Known) -> dict[str, Any]:
    quarterly: dict[str, list[float]] = {}
    for one in reversed(told.figures):
        if span(one) == QUARTER:
            quarterly.setdefault(one.concept, []).append(one.value_number)
    return {
        "chart": _price_chart(told),
        "sparks": {name: charts.sparkline(values[-8:], f"{name}, by quarter") for name, values in quarterly.items()},
    }


def environment(loader: jinja2.BaseLoader) -> jinja2.Environment:
    """The templates' surroundings: everything escaped, an unknown name an error."""
    made = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    made.lstrip_blocks = True
    made.globals.update(
        {
            name: getattr(shown, name)
            for name in ("age", "change", "concept", "day_text", "long_text", "number_text", "period", "stamp")
        },
        unit_text=shown.unit,
        iso=iso,
        span=span,
    )
    return made
