"""Access to the pages: the rules for any server (pitlake.serving.guard), and the token for changes.

Answers have headers that let a page load only its own style sheet and script. GET changes nothing.
"""

import hmac
from collections.abc import Collection
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pitlake.serving.guard import OwnSite, is_own

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
    """A guard that passes a request on or refuses it in one sentence. hosts: names in addition to this machine's."""

    def __init__(self, app: ASGIApp, token: str, hosts: Collection[str] = ()) -> None:
        self._app, self._token = app, token
        self._judged = OwnSite(self._unlocked, hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._judged(scope, receive, dressed)

    async def _unlocked(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer reading requests, and changes if the request has the token."""
        refused = self._refused(scope) if scope["type"] == "http" else None
        app: ASGIApp = PlainTextResponse(refused + "\n", 403) if refused else self._app
        await app(scope, receive, send)

    def _refused(self, scope: Scope) -> str | None:
        headers = Headers(scope=scope)
        if scope["method"] in ("GET", "HEAD"):
            return None
        if not is_own(headers.get("origin", ""), headers.get("host", "")):
            return "this was sent from another page; send it from this server's own"
        if scope["path"] != UNLOCK and not self.knows(headers.get("cookie", "")):
            return f"this browser may only read; open {UNLOCK} with the token that `pitlake web` printed"
        return None

    def knows(self, cookies: str) -> bool:
        """Return whether a request's cookies contain the token."""
        try:
            cookie = SimpleCookie(cookies).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and self.is_token(cookie.value)

    def is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._token.encode())
