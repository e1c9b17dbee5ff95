"""The web application: routes, error pages, added rooms, and the guard around all of them."""

import traceback
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import anyio
import jinja2
from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from pitlake.errors import BadInput, LakeNotFound, LimitExceeded, PitlakeError, QueryFailed, ServerBusy, for_agents
from pitlake.lake.lake import Lake
from pitlake.serving.kept import KeptSessions
from pitlake.web.address import Address, settled
from pitlake.web.as_data import JsonAddresses, render
from pitlake.web.guard import COOKIE, UNLOCK, Guard
from pitlake.web.pages import TimeMachine, page_templates
from pitlake.web.pool import Pool
from pitlake.web.tables import Tables

SWEEP_SECONDS = 30
MOST_BODY = 64 << 10


@dataclass(frozen=True)
class Room:
    """A group of pages in addition to the time machine. links: (address, title) for the navigation bar. templates:
    their folder. routes: returns their routes, given the template renderer and the lake.
    """

    title: str
    links: Sequence[tuple[str, str]]
    templates: Path
    routes: Callable[[jinja2.Environment, Lake], Sequence[BaseRoute]]


@dataclass(frozen=True)
class ServerSettings:
    """The settings of a server. home: the target of `/`. token: required for changes. hosts: its other names."""

    pool: Pool
    home: Address
    token: str
    hosts: Collection[str] = ()
    rooms: Sequence[Room] = field(default_factory=tuple)


def application(settings: ServerSettings) -> ASGIApp:
    """Return the application of all pages behind the guard."""
    here = Path(str(files("pitlake.web")))
    folders = [here / "templates", *(room.templates for room in settings.rooms)]
    templates = page_templates(jinja2.FileSystemLoader([str(folder) for folder in folders]))
    templates.globals["rooms"] = settings.rooms
    machine = TimeMachine(settings.pool, templates, settings.home)
    routes: list[BaseRoute] = [
        *machine.routes(),
        *Tables(settings.pool, templates).routes(),
        *_changes(machine, templates, settings.token),
        *(route for room in settings.rooms for route in room.routes(templates, settings.pool.lake)),
        Mount("/static", StaticFiles(directory=here / "static")),
    ]

    @asynccontextmanager
    async def open_while_served(_app: Starlette) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_swept, settings.pool.sessions)
            yield
            tasks.cancel_scope.cancel()
        settings.pool.sessions.close()

    def failed(request: Request, error: Exception) -> Response:
        return render(templates, request, "error.html", {"page": "error"} | _error_page(error), status=_status(error))

    app = Starlette(
        routes=routes,
        lifespan=open_while_served,
        exception_handlers={PitlakeError: failed, HTTPException: failed, Exception: failed},
    )
    return Guard(JsonAddresses(_TimeControls(app, failed)), settings.token, settings.hosts)


class _TimeControls:
    """Redirects the form of a time bar, on any page, to the address of the requested instant."""

    def __init__(self, app: ASGIApp, failed: Callable[[Request, Exception], Response]) -> None:
        self._app, self._failed = app, failed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http" and scope["method"] == "GET":
            request = Request(scope)
            try:
                query = settled(request.query_params)
            except BadInput as error:
                app = self._failed(request, error)
            else:
                path = f"/{scope['path'].lstrip('/')}"  # two slashes would name another host
                app = app if query is None else RedirectResponse(f"{path}?{urlencode(query)}", 303)
        await app(scope, receive, send)


def _changes(machine: TimeMachine, templates: jinja2.Environment, token: str) -> list[Route]:
    """Return the routes that change something: unlocking this browser, and storing a receipt. They accept only POST."""
    guard = Guard(Starlette(), token)

    async def unlock(request: Request) -> Response:
        if request.method != "POST":
            page = templates.get_template("unlock.html").render(
                page="unlock", let_in=guard.knows(str(request.headers.get("cookie", "")))
            )
            return HTMLResponse(page)
        text = (await form(request)).get("token", "").strip()
        if not guard.is_token(text):
            raise BadInput("token", "is wrong or belongs to another server", "use the one that `pitlake web` printed")
        answer = RedirectResponse(UNLOCK, 303)
        answer.set_cookie(COOKIE, text, httponly=True, samesite="strict")
        return answer

    async def keep(request: Request) -> Response:
        fields = await form(request)
        return RedirectResponse(f"/r/{await to_thread.run_sync(machine.keep, fields)}", 303)

    return [Route(UNLOCK, unlock, methods=["GET", "POST"]), Route("/receipts", keep, methods=["POST"])]


async def form(request: Request) -> dict[str, str]:
    """Read the fields of a form. Raises BadInput if it is too large or incomplete."""
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > MOST_BODY:
                raise BadInput("form", "too large", f"send {MOST_BODY} bytes or less")
    except ClientDisconnect:
        raise BadInput("form", "incomplete", "send it again") from None
    return dict(parse_qsl(body.decode("utf-8", "replace")))


async def _swept(sessions: KeptSessions) -> None:
    while True:
        await anyio.sleep(SWEEP_SECONDS)
        await to_thread.run_sync(sessions.sweep)


def _status(error: Exception) -> int:
    if isinstance(error, HTTPException):
        return int(error.status_code)
    if isinstance(error, LakeNotFound):
        return 404
    if isinstance(error, ServerBusy):
        return 503
    return 400 if isinstance(error, BadInput | QueryFailed | LimitExceeded) else 500


def _error_page(error: Exception) -> dict[str, str]:
    if isinstance(error, PitlakeError):
        sentence = for_agents(error)
        if sentence != str(error):
            traceback.print_exception(error)
        return {"title": "This can't be shown", "sentence": sentence}
    if isinstance(error, HTTPException):
        return {"title": "There is no such page", "sentence": str(error.detail)}
    traceback.print_exception(error)
    return {"title": "This went wrong", "sentence": "the server's output has the details"}
