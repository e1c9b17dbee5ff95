"""The PM's commands on the pages. Each is a POST with the token, and does the same as the CLI command of that name."""

import getpass
import os
import re
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from typing import Literal

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from forge.core.entries import ENTRIES
from forge.desk.commands import (
    LIMITS,
    add_fills,
    backtests_under_way,
    constrain,
    decisions_under_way,
    enter_cash,
    example_view,
    state_view,
    stop,
    switch_trading,
    undo_fill,
)
from forge.memory.approvals import change_held
from forge.memory.cash import Entry
from forge.memory.fills import all_fills
from forge.memory.halts import halted
from forge.records.kinds import NEW
from forge.tracking.calibration import calibrate
from forge.tracking.receipts import recorded_cut_offs
from forge.tracking.work import describe, settle_due
from forge.web.day import Day
from forge.web.desk import DeskPages
from pitlake.clock import new_york_day
from pitlake.errors import BadInput, PitlakeError
from pitlake.web.app import form

Fields = Mapping[str, str]
Order = Callable[[Day, Fields], list[str]]
PAGE = "commands.html"
_ONCE = re.compile(r"[0-9a-f]{16}", re.ASCII)


class Commands:
    """Pages for constraints, own Views, changes to held positions, fills, halts, settlement, calibration and stops."""

    def __init__(self, pages: DeskPages) -> None:
        self._pages = pages

    def routes(self) -> list[BaseRoute]:
        """Return the routes of these pages."""
        orders: dict[str, Order] = {
            "/desk/constrain": _constrain,
            "/desk/own-view": _own_view,
            "/desk/adjust": _adjust,
            "/desk/close": _close,
            "/desk/settle": _settle,
            "/desk/calibrate": _calibrate,
            "/desk/stop": lambda day, fields: [stop(day.desk, fields.get("name", ""), fields.get("reason", ""))],
            "/desk/halt": partial(_switch, "halted"),
            "/desk/release": partial(_switch, "released"),
            "/desk/fills": _fills,
            "/desk/void": partial(_undo, "void"),
            "/desk/restore": partial(_undo, "booked"),
            "/desk/cash": _cash,
        }
        posts = [Route(path, partial(self._order, order), methods=["POST"]) for path, order in orders.items()]
        return [Route("/desk/commands", self.commands), *posts]

    def commands(self, request: Request) -> Response:
        """Show the commands and the running decisions and backtests."""
        with self._pages.day(request) as day:
            return self._page(request, day)

    async def _order(self, order: Order, request: Request) -> Response:
        fields = await form(request)

        def obey() -> Response:
            if "as_of" in request.query_params:
                raise BadInput("as_of", "is an earlier instant", "go to today's desk to give a command")
            with self._pages.day(request) as day:
                try:
                    done = order(day, fields)
                except PitlakeError as refused:
                    return self._page(request, day, problem=str(refused).removeprefix("--"), fields=fields, status=409)
            with self._pages.day(request) as day:
                return self._page(request, day, done)

        return await to_thread.run_sync(obey)

    def _page(
        self, request: Request, day: Day, done: list[str] | None = None, problem: str = "",
        fields: Fields | None = None, status: int = 200,
    ) -> Response:  # fmt: skip
        sent = fields or {}
        return self._pages.page(
            request,
            PAGE,
            day,
            status,
            done=done or [],
            problem=problem,
            limits=day.limits(LIMITS),
            held=day.held(),
            text=sent.get("text") or example_view(),
            once=os.urandom(8).hex(),
            sent=sent,
            fills=all_fills(day.remembered),
            entries=ENTRIES,
            halt=halted(day.remembered),
            running=[*backtests_under_way(day.desk), *decisions_under_way(day.desk)],
        )


def _constrain(day: Day, fields: Fields) -> list[str]:
    limits = {name: _number(fields, name) for name in LIMITS if fields.get(name, "").strip()}
    constrain(day.desk, day.memory, limits)
    return [f"{name} {limit:g}" for name, limit in limits.items()]


def _own_view(day: Day, fields: Fields) -> list[str]:
    text, once = fields.get("text", "").replace("\r\n", "\n"), fields.get("once", "")
    if not _ONCE.fullmatch(once):
        raise BadInput("once", "is not the form's own", "open the page again and send its form")
    return [f"{state_view(day.desk, day.memory, text, fields.get('id', '').strip() or NEW, once)} is written"]


def _adjust(day: Day, fields: Fields) -> list[str]:
    terms: dict[str, object] = {name: value for name in ("stop", "target") if (value := fields.get(name, "").strip())}
    if last_day := _day(fields, "expires"):
        terms["expires"] = last_day
    if not terms:
        raise BadInput("stop", "no change is given", "give a stop, a target or a last day")
    name = fields.get("id", "")
    change_held(day.memory, name, fields.get("by") or getpass.getuser(), day.guardrails, terms, day.approvers)
    day.memory.flush()
    return [f"{name}: {', '.join(f'{term} {value}' for term, value in terms.items())}"]


def _close(day: Day, fields: Fields) -> list[str]:
    name, terms = fields.get("id", ""), {"exit_reason": fields.get("reason", "")}
    by = fields.get("by") or getpass.getuser()
    changed = change_held(day.memory, name, by, day.guardrails, terms, day.approvers)
    day.memory.flush()
    return [f"{name} closes at the end of {changed.expires}, or with the next bar after it"]


def _settle(day: Day, _fields: Fields) -> list[str]:
    changes, gaps = settle_due(day.memory, day.market, recorded_cut_offs(day.tape), day.desk.config)
    day.memory.flush()
    return [*changes, *gaps] or ["nothing was due"]


def _calibrate(day: Day, _fields: Fields) -> list[str]:
    changed = calibrate(day.memory, day.at)
    day.memory.flush()
    return [describe(calibration) for calibration in changed] or ["no score changed"]


def _switch(status: Literal["halted", "released"], day: Day, fields: Fields) -> list[str]:
    return [switch_trading(day.memory, status, fields.get("reason", ""))]


def _fills(day: Day, fields: Fields) -> list[str]:
    counted, gaps = add_fills(day.desk, day.memory, fields.get("fills", ""), day.lake.root)
    return [counted, *gaps]


def _undo(status: Literal["void", "booked"], day: Day, fields: Fields) -> list[str]:
    text, gaps = undo_fill(day.desk, day.memory, fields.get("id", ""), fields.get("reason", ""), day.lake.root, status)
    return [text, *gaps]


def _cash(day: Day, fields: Fields) -> list[str]:
    booked_on = _day(fields, "on") or new_york_day(day.memory.journal.clock.now())
    entry = Entry(
        fields.get("entry", ""),
        _number(fields, "amount"),
        booked_on,
        fields.get("reason", ""),
        fields.get("ticker", ""),
    )
    text, gaps = enter_cash(day.desk, day.memory, entry, day.lake.root)
    return [text, *gaps]


def _day(fields: Fields, name: str) -> date | None:
    text = fields.get(name, "").strip()
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise BadInput(name, f"{text[:40]!r} is not a date", "give a date such as 2024-06-28") from None


def _number(fields: Fields, name: str) -> float:
    text = fields.get(name, "")
    try:
        return float(text)
    except ValueError:
        raise BadInput(name, f"{text[:40]!r} is not a number", "give a number that is 0 or more") from None
