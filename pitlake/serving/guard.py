"""Checks access to a server over HTTP.

A request must use one of the server's names and must not come from another site's page in a browser.

The check runs before anything is read or opened. It also records the client for `turns`.
"""

import re
from collections.abc import Collection
from contextlib import suppress
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pitlake.errors import BadInput
from pitlake.serving.turns import client

OWN_HOSTS = ("127.0.0.1", "localhost", "[::1]", "::1")
_OWN_PAGES = ("", "none", "same-origin")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::\d+)?")


class OwnSite:
    """A guard that passes a request on or refuses it in one sentence. hosts: names in addition to this machine's."""

    def __init__(self, app: ASGIApp, hosts: Collection[str] = ()) -> None:
        self._app, self._hosts = app, {*OWN_HOSTS, *hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http":
            client.set((scope.get("client") or ("",))[0])
            headers = Headers(scope=scope)
            if "content-length" in headers and "transfer-encoding" in headers:
                # Servers disagree on which length applies, so the rest of the connection is not read.
                problem = "the request has both Content-Length and Transfer-Encoding; send only one of them\n"
                app = PlainTextResponse(problem, 400, {"Connection": "close"})
            elif refused := self._refused(headers):
                app = PlainTextResponse(refused[1] + "\n", refused[0])
        with suppress(ClientDisconnect):  # The client has disconnected, so it would not receive an error.
            await app(scope, receive, send)

    def _refused(self, headers: Headers) -> tuple[int, str] | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        parts = _HOST.fullmatch(host)
        if (parts and parts[1]) not in self._hosts:
            return 421, "this server does not accept this host name; start it with --allow-host NAME"
        own = headers.get("sec-fetch-site", "").lower() in _OWN_PAGES
        if not own or (origin is not None and not is_own(origin, host)):
            return 403, "this request comes from another site's page; use this server's own pages, or type the address"
        return None


def is_own(origin: str, host: str) -> bool:
    """Return whether an Origin header names the host to which the request was sent."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.netloc == host and parts.scheme in ("http", "https")


def check_reach(host: str, hosts: Collection[str]) -> None:
    """Raise BadInput if other machines could reach an address and no host name is given."""
    if host not in OWN_HOSTS and not hosts:
        raise BadInput(
            "--host", "reachable from other machines", "give the host name that clients use: --allow-host NAME"
        )
