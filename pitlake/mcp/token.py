"""A bearer token for the server over HTTP: a request without it gets a 401 and nothing else."""

import hmac
import os

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pitlake.errors import BadInput

VARIABLE, SHORTEST = "PITLAKE_MCP_TOKEN", 32


def token() -> bytes:
    """Return $PITLAKE_MCP_TOKEN, empty if it is not set. Raises BadInput if it is too short to be secret."""
    text = os.environ.get(VARIABLE, "")
    if text and (len(text) < SHORTEST or not text.isascii() or not text.isprintable() or " " in text):
        problem = f"not {SHORTEST} or more printable ASCII characters without a space"
        raise BadInput(VARIABLE, problem, "make one with `openssl rand -hex 32`")
    return text.encode()


class Guarded:
    """An application that answers only requests with the token."""

    def __init__(self, app: ASGIApp, expected: bytes) -> None:
        self._app, self._expected = app, b"bearer " + expected

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it before reading it."""
        if scope["type"] == "http":
            scheme, _, credentials = Headers(scope=scope).get("authorization", "").partition(" ")
            header = f"{scheme.lower()} {credentials.strip()}".encode("utf-8", "replace")
            if not hmac.compare_digest(header, self._expected):
                refusal = PlainTextResponse(
                    f"give the server's token: Authorization: Bearer ${VARIABLE}\n", 401, {"WWW-Authenticate": "Bearer"}
                )
                return await refusal(scope, receive, send)
        return await self._app(scope, receive, send)
