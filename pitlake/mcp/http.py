"""MCP over streamable HTTP at /mcp, for any of pitlake's servers.

Each request is independent (no server-side session, no open stream). A host other than this machine must be named. For
other machines, require a token (pitlake.mcp.token) and use a TLS proxy in front.
"""

from collections.abc import Callable, Collection
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pitlake.mcp.token import Guarded, token
from pitlake.serving.guard import OwnSite, check_reach
from pitlake.serving.server import listening, serve_until_ended
from pitlake.serving.server import server as uvicorn_server


class HttpAddress:
    """The address of an MCP server. If $PITLAKE_MCP_TOKEN is set, requests need the token."""

    def __init__(self, host: str, port: int, allowed_hosts: Collection[str] = ()) -> None:
        """Check an address.

        Raises BadInput if other machines could reach it and no name is given, and for a token that is too short to be
        secret.

        Args:
            host: The address of this machine to listen on.
            port: Its port.
            allowed_hosts: The server's names for clients, required beyond this machine.
        """
        check_reach(host, allowed_hosts)
        self._host, self._port, self._allowed_hosts, self._token = host, port, allowed_hosts, token()

    @property
    def url(self) -> str:
        """Return the server's URL for clients on this machine."""
        return f"http://{f'[{self._host}]' if ':' in self._host else self._host}:{self._port}/mcp"

    async def serve(
        self,
        mcp_server: MCPServer[Any] | Server[Any],
        on_started: Callable[[], None],
        guarded: Callable[[ASGIApp], ASGIApp] = lambda app: app,
    ) -> None:
        """Serve until interrupted. Raises BadInput if it can't listen.

        Args:
            mcp_server: The server that answers. on_started: Called once it answers. guarded: Wraps the application with
            more checks, which run after the token's.
        """
        unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # OwnSite checks it
        app: ASGIApp = mcp_server.streamable_http_app(stateless_http=True, transport_security=unguarded)
        app = guarded(OnlyPosts(app))
        app = Guarded(app, self._token) if self._token else app
        with listening(self._host, self._port) as listener:
            await serve_until_ended(uvicorn_server(OwnSite(app, self._allowed_hosts), on_started), listener)


class OnlyPosts:
    """The application without the method GET, which would open a stream that this server never writes to."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] != "POST":
            return await PlainTextResponse("ask by POST\n", 405, {"Allow": "POST"})(scope, receive, send)
        return await self._app(scope, receive, send)
