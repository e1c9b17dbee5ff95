"""One proxy for all samples of an evaluation. Each request names its cut-off in a header.

The evaluation's harness sets the header for each sample's connection; an agent can't. A request
without the header, or with a cut-off after the proxy's own, is refused before it is read. Each cut-off has its own tape
and receipts.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pitlake.clock import instant, iso
from pitlake.errors import BadInput
from pitlake.proxy.link import Link
from pitlake.proxy.policy import Policy
from pitlake.proxy.server import INSTRUCTIONS, Proxy
from pitlake.proxy.tape import Tape

MOST_TAPES = 64
"""The most unused tapes that stay open."""
_AS_OF = "pitlake.as_of"


class AsOfHeader:
    """An application that answers only requests whose header names a cut-off no later than the latest one allowed."""

    def __init__(self, app: ASGIApp, name: str, latest: datetime) -> None:
        self._app, self._name, self._latest = app, name, latest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it before reading it."""
        app = self._app
        if scope["type"] == "http":
            try:
                scope[_AS_OF] = self._as_of(Headers(scope=scope).getlist(self._name))
            except BadInput as problem:
                app = PlainTextResponse(f"{problem}\n", 400)
        await app(scope, receive, send)

    def _as_of(self, settings: list[str]) -> datetime:
        if len(settings) != 1:
            raise BadInput(self._name, "must be sent exactly once", "send the sample's cut-off in this header")
        moment = instant(settings[0], self._name)
        if moment > self._latest:
            raise BadInput(self._name, "is later than the proxy's own --as-of", f"send one up to {iso(self._latest)}")
        return moment


class Samples:
    """The proxies of the cut-offs that requests name, each with a tape next to the given path."""

    def __init__(self, link: Link, policy: Policy, path: Path) -> None:
        self.policy, self._link, self._path = policy, link, path
        self._proxies: dict[datetime, tuple[Proxy, Tape]] = {}
        self._users: dict[datetime, int] = {}
        self._turn = anyio.Lock()

    @property
    def instructions(self) -> str:
        """Return the instructions for clients about the answers."""
        return f"Answers as of an instant; their receipts state it. {INSTRUCTIONS}"

    @asynccontextmanager
    async def of_request(self, request: Any) -> AsyncIterator[Proxy]:
        """Yield the proxy of the cut-off that a request named."""
        as_of: datetime = request.scope[_AS_OF]
        self._users[as_of] = self._users.get(as_of, 0) + 1
        try:
            yield await self._proxy(as_of)
        finally:
            self._users[as_of] -= 1

    async def _proxy(self, as_of: datetime) -> Proxy:
        async with self._turn:
            if as_of in self._proxies:
                self._proxies[as_of] = self._proxies.pop(as_of)  # The most recently used is last.
                return self._proxies[as_of][0]
            idle = [moment for moment in self._proxies if not self._users.get(moment)]
            for oldest in idle[: max(0, len(idle) - MOST_TAPES + 1)]:
                self._users.pop(oldest, None)
                self._proxies.pop(oldest)[1].close()
            path = self._path.with_name(f"{self._path.stem}-{as_of:%Y%m%dT%H%M%S.%fZ}{self._path.suffix}")
            tape = Tape.record(path, self.policy, as_of)
            proxy = Proxy(tape, self._link)
            try:
                await proxy.prepare()
            except BaseException:
                tape.close()
                raise
            self._proxies[as_of] = (proxy, tape)
            return proxy

    def close(self) -> None:
        """Close every tape."""
        for _, tape in self._proxies.values():
            tape.close()
