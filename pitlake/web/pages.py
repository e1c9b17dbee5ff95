"""The time machine's pages. Each runs its address's questions and fills one template. Sessions decide what is shown."""

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from threading import Lock
from typing import Any
from urllib.parse import urlencode

import jinja2
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pitlake import charts
from pitlake.answers import receipts
from pitlake.charts import Svg
from pitlake.clock import NEW_YORK, iso
from pitlake.contract import Dataset
from pitlake.errors import BadInput
from pitlake.templates import environment
from pitlake.web import address as addresses
from pitlake.web import companies, compare, formatting, questions
from pitlake.web import history as histories
from pitlake.web.address import Address, Move
from pitlake.web.as_data import check_form, download, render, wants_json
from pitlake.web.company import ITEMS, CompanyView, read_company, span
from pitlake.web.formatting import Sheet
from pitlake.web.pool import Pool
from pitlake.web.tables import TableAddress, chart, numbers

_RECEIPT = re.compile(r"[0-9a-f]{16}")
MOST_ROWS = 200
MOST_PAGES, LONGEST_PAGE = 32, 512 << 10
"""The number of pages that a server caches, and the size of the largest in bytes."""
WEEKS = 1


class TimeMachine:
    """The pages that need only a lake. home: the target of `/`."""

    def __init__(self, pool: Pool, templates: jinja2.Environment, home: Address) -> None:
        self._pool, self._templates, self._home = pool, templates, home
        self._pages, self._lock = OrderedDict[tuple[object, ...], Response](), Lock()

    def routes(self) -> list[Route]:
        return [
            Route("/", self.start),
            Route("/at", partial(self._once, self.at)),
            Route("/companies", partial(self._once, self.companies)),
            Route("/compare", partial(self._once, self.compare)),
            Route("/history", partial(self._once, self.history)),
            Route("/ask", partial(self._once, self.ask)),
            Route("/ask.{form}", self.download),
            Route("/r/{receipt}", self.receipt),
        ]

    def start(self, request: Request) -> Response:
        """Redirect to the first page."""
        return RedirectResponse(self._home.first_page, 303)

    def at(self, request: Request) -> Response:
        """Show what was known about a company at T. Text that is not a ticker is searched for among the companies."""
        text = request.query_params.get("ticker", "").strip()
        if text and not addresses.names_company(text):
            return RedirectResponse(_search_url(addresses.parse_instant(request.query_params), text), 303)
        view = addresses.parse_address(request.query_params)
        with self._pool.session(view.as_of) as session:
            company, contracts = read_company(session, view), session.contracts
            if not company.ciks and companies.search(session, text):
                return RedirectResponse(_search_url(view.as_of, text), 303)
        frame = _pictures(company, contracts)
        return self._page(request, "at.html", view, {"company": company}, events=company.releases, **frame)

    def companies(self, request: Request) -> Response:
        """List the companies that match a search text; all companies without one."""
        moment = addresses.parse_instant(request.query_params)
        text = request.query_params.get("q", "").strip()
        with self._pool.session(moment) as session:
            matches = companies.search(session, text)
        most = companies.MOST_COMPANIES
        facts = {
            "page": "companies",
            "as_of": moment,
            "text": text,
            "found": matches[:most],
            "more": len(matches) > most,
        }
        return render(self._templates, request, "companies.html", facts, moment=moment)

    def compare(self, request: Request) -> Response:
        """Show two instants side by side, the earlier one first."""
        view = addresses.parse_address(request.query_params)
        if "with" not in request.query_params:
            return RedirectResponse(view.url("/compare", **{"with": iso(view.as_of - timedelta(weeks=WEEKS))}), 303)
        other = addresses.parse_address({"as_of": request.query_params["with"], "ticker": view.ticker})
        first, second = sorted((view, other), key=lambda side: side.as_of)
        sides = []
        for side in (first, second):
            with self._pool.session(side.as_of) as session:
                sides.append(read_company(session, side))
        before, after = sides
        sheet = Sheet(second)
        facts = {
            "before": before,
            "after": after,
            "pairs": compare.figures(before, after),
            "revised": compare.revised(before, after),
            "events": compare.events(before, after),
        }
        chart, earlier = _price_chart(after, first.as_of), sheet.sharing_evidence(first)
        return self._page(request, "compare.html", second, facts, sheet=sheet, earlier=earlier, chart=chart)

    def history(self, request: Request) -> Response:
        """Show every revision of one number that was public by T."""
        view, number = addresses.parse_address(request.query_params), histories.number(request.query_params)
        with self._pool.session(view.as_of) as session:
            history = histories.history(session, number)
        day = number.day
        triangle = charts.vintage_chart(history.neighbours, day, view.as_of, charts.LONG_LABELS) if day else []
        stairs = charts.line_chart(history.values, view.as_of, charts.HALF_WIDTH, "The value as known", stepped=True)
        copies = {"SQL": number.sql, "Python": questions.as_python(number.sql, view.as_of)}
        copies["Command line"] = questions.as_command(number.sql, view.as_of)
        facts = {"history": history, "copies": copies}
        frame = {"triangle": triangle, "stairs": stairs}
        events = [Move("revision", revision.available_at) for revision in history.revisions][::-1]
        return self._page(request, "history.html", view, facts, events=events, **frame)

    def ask(self, request: Request) -> Response:
        """Show the answer to one page question, and how to ask it in other interfaces."""
        view = addresses.parse_address(request.query_params)
        question = questions.get(request.query_params.get("question", ""))
        with self._pool.session(view.as_of) as session:
            company = session.company(view.ticker)
            result = question.ask(session, company.company)
        sql = question.written(company.company)
        copies = {"SQL": sql, "Python": questions.as_python(sql, view.as_of)}
        copies["Command line"] = questions.as_command(sql, view.as_of)
        facts = {
            "question": question,
            "columns": result.columns,
            "rows": result.rows()[:MOST_ROWS],
            "count": len(result),
            "notes": company.notes_on(labels=True),
            "copies": copies,
            "sha256": result.receipt.result_sha256,
        }
        return self._page(request, "ask.html", view, facts)

    def download(self, request: Request) -> Response:
        """Return every row of a page question as a CSV or Parquet file."""
        check_form(form := request.path_params["form"])
        view = addresses.parse_address(request.query_params)
        question = questions.get(request.query_params.get("question", ""))
        with self._pool.session(view.as_of) as session:
            result = question.ask(session, session.company(view.ticker).company)
        return download(result.arrow(), f"{view.ticker}-{question.name}", form)

    def keep(self, fields: dict[str, str]) -> str:
        """Store a question's receipt and return its id. Raises the errors of `ask`."""
        view, question = addresses.parse_address(fields), questions.get(fields.get("question", ""))
        with self._pool.session(view.as_of) as session:
            return question.ask(session, session.company(view.ticker).company).keep(self._pool.lake)

    def receipt(self, request: Request) -> Response:
        """Show the replayed answer to a stored receipt."""
        name = request.path_params["receipt"]
        if not _RECEIPT.fullmatch(name):
            raise BadInput("receipt", "is not the id of a receipt", "`pitlake receipts` lists the stored ones")
        receipt = receipts.find(name, self._pool.lake.root)
        with self._pool.turns.turn():
            result = receipts.replay(receipt, self._pool.lake, isolation=self._pool.isolation)
        context = {
            "page": "receipt",
            "name": name,
            "receipt": receipt,
            "columns": result.columns,
            "rows": result.rows()[:MOST_ROWS],
            "count": len(result),
            "parameters": json.loads(receipt.question.parameters),
        }
        return render(self._templates, request, "receipt.html", context)

    def _once(self, make: Callable[[Request], Response], request: Request) -> Response:
        """Return a page from the cache, because an address on the same lake version always gives the same page."""
        key = (request.url.path, str(request.query_params), wants_json(request), self._pool.lake.head())
        with self._lock:
            page = self._pages.pop(key, None)
            if page is not None:
                self._pages[key] = page
                return Response(page.body, media_type=page.media_type)
        page = make(request)
        if page.status_code == HTTPStatus.OK and len(page.body) <= LONGEST_PAGE:
            with self._lock:
                self._pages[key] = page
                while len(self._pages) > MOST_PAGES:
                    self._pages.popitem(last=False)
        return page

    def _page(self, request: Request, template: str, view: Address, facts: Mapping[str, Any], **frame: Any) -> Response:
        facts = {"page": template.removesuffix(".html"), "address": view, **facts}
        own: dict[str, Any] = {"sheet": Sheet(view), "moment": view.as_of}
        return render(self._templates, request, template, facts, **own | frame)


def _search_url(as_of: datetime, text: str) -> str:
    return f"/companies?{urlencode({'as_of': iso(as_of), 'q': text})}"


def time_bar(at: datetime, events: Sequence[Move] = ()) -> dict[str, Any]:
    """Return the controls of an instant: the moves from it, and a slider with marks at events up to it."""
    instants = [event.to for event in events]
    first, last = addresses.slider(at, min(instants, default=at))
    return {
        "back": addresses.back(at, events),
        "forward": addresses.forward(at),
        "first": first,
        "last": last,
        "local": at.astimezone(NEW_YORK),
        "slider": charts.slider_marks(first, last, at, instants),
    }


def _price_chart(company: CompanyView, compared_with: datetime | None = None) -> list[Svg]:
    closes = [(bar.date, bar.adjusted) for bar in company.bars if bar.adjusted is not None]
    return charts.line_chart(
        closes if len(closes) > 1 else [],
        company.address.as_of,
        charts.FULL_WIDTH if compared_with else charts.TWO_THIRDS,
        "Daily closes",
        events=[release.to for release in company.releases],
        compared_with=compared_with,
    )


def _pictures(company: CompanyView, contracts: Mapping[str, Dataset]) -> dict[str, Any]:
    lines = {item: [figure.value_number for figure in line.values()][::-1] for item, line in company.quarters.items()}
    tables = {}
    for own in company.own:
        contract = contracts[own.name]
        entity = str(getattr(own.rows[0], contract.entity))
        column = next(iter(numbers(contract)), "")
        tables[own.name] = TableAddress(company.address.as_of, contract, entity=entity, column=column)
    return {
        "chart": _price_chart(company),
        "sparks": {item: charts.sparkline(values[-8:], f"{ITEMS[item]}, by quarter") for item, values in lines.items()},
        "tables": tables,
        "own_charts": {own.name: chart(tables[own.name], [vars(row) for row in own.rows]) for own in company.own},
    }


def page_templates(loader: jinja2.BaseLoader) -> jinja2.Environment:
    """Return the template environment with the functions of these pages."""
    templates = environment(loader)
    templates.globals.update(
        {
            name: getattr(formatting, name)
            for name in ("age", "cell", "change", "day_text", "long_text", "number_text", "period", "stamp")
        },
        unit_text=formatting.unit,
        iso=iso,
        items=ITEMS,
        site=" · pitlake",
        span=span,
        time_bar=time_bar,
        url_at=addresses.url_at,
    )
    return templates
