"""Who may ask: the host a request names, where it comes from, and the token for everything that changes something.

Answers carry headers that let a page load its own style sheet and script and nothing else. GET changes nothing.
"""

import hmac
from collections.abc import Collection, Mapping
from http.cookies import SimpleCookie
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

OWN_HOSTS = ("127.0.0.1", "localhost", "[::1]", "::1")
COOKIE = "pitlake_token"
UNLOCK = "/unlock"
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Lets a request through, or refuses it with one sentence. hosts: names beside this machine's own."""

    def __init__(self, app: ASGIApp, token: str, hosts: Collection[str] = ()) -> None:
        self._app, self._token = app, token
        self._hosts = {*OWN_HOSTS, *hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refused(scope["method"], scope["path"], headers)

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        app: ASGIApp = PlainTextResponse(refused[1] + "\n", refused[0]) if refused else self._app
        await app(scope, receive, dressed)

    def _refused(self, method: str, path: str, headers: Mapping[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if _name(host) not in self._hosts:
            return 421, "this host is not one of this server's; start it with --allow-host NAME to be called so"
        if method in ("GET", "HEAD"):
            return None
        origin = headers.get("origin", "")
        if urlsplit(origin).netloc != host or urlsplit(origin).scheme not in ("http", "https"):
            return 403, "this was sent from another page; send it from this server's own"
        if path != UNLOCK and not self.knows(headers.get("cookie", "")):
            return 403, f"this browser may only read; open {UNLOCK} with the token that `pitlake web` printed"
        return None

    def knows(self, cookies: str) -> bool:
        """Whether a request's cookies hold the token."""
        kept = SimpleCookie(cookies).get(COOKIE)
        return kept is not None and self.is_token(kept.value)

    def is_token(self, text: str) -> bool:
        """Whether this is the token."""
        return hmac.compare_digest(text.encode(), self._token.encode())


def _name(host: str) -> str:
    """A host without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.rpartition(":")[0] if ":" in host else host
