"""The MCP server: the SDK's server with our tools, over stdio or streamable HTTP.

Over HTTP each request is independent (no server-side session, no open stream), and a host other than this machine must
be named. For other machines, require a token (pitlake.mcp.token) and put a proxy with TLS in front.
"""

from collections.abc import Collection
from typing import Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pitlake import __version__
from pitlake.clock import iso
from pitlake.mcp.query_service import QueryService
from pitlake.mcp.reading import prompts, resources
from pitlake.mcp.token import Guarded, token
from pitlake.mcp.tools import tools
from pitlake.serving.guard import OwnSite, check_reach
from pitlake.serving.server import listening, serve

LOG_LEVEL: Literal["WARNING"] = "WARNING"


def server(service: QueryService) -> MCPServer[None]:
    """Return a server that answers at the service's instant."""
    cut_off = f"as of {iso(service.viewpoint.as_of)}" if service.viewpoint.as_of else "in open mode, outcomes included"
    if service.viewpoint.known_by:
        cut_off += f", as this lake was at {iso(service.viewpoint.known_by)}"
    mcp_server = MCPServer[None](
        name="pitlake",
        title="Point-in-time data lake",
        version=__version__,
        instructions=(
            f"Answers {cut_off}. Data that was not public then is absent, whatever you ask. Items say when they became "
            "public (available_at) or that they are computed. Call describe first, prefer run_query to SQL, and page "
            "on with next_cursor while truncated is true."
        ),
        tools=tools(service),
        resources=resources(service),
        log_level=LOG_LEVEL,
    )
    for prompt in prompts(service):
        mcp_server.add_prompt(prompt)
    return mcp_server


def serve_stdio(service: QueryService) -> None:
    """Serve one client over stdin and stdout until it disconnects."""
    server(service).run("stdio")


def serve_http(service: QueryService, *, host: str, port: int, allowed_hosts: Collection[str] = ()) -> None:
    """Serve over streamable HTTP at /mcp; with $PITLAKE_MCP_TOKEN set, only to requests with the token.

    allowed_hosts: the server's names for clients, required beyond this machine. Raises BadInput if other machines could
    reach it and no name is given, if it can't listen, and for a token too short to be secret.
    """
    check_reach(host, allowed_hosts)
    expected = token()
    unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # OwnSite checks this
    app: ASGIApp = server(service).streamable_http_app(stateless_http=True, transport_security=unguarded)
    app = OnlyPosts(app)
    app = Guarded(app, expected) if expected else app
    with listening(host, port) as listener:
        serve(OwnSite(app, allowed_hosts), listener)


class OnlyPosts:
    """The application without GET, which would open a stream that is never written to."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and scope["method"] != "POST":
            return await PlainTextResponse("ask by POST\n", 405, {"Allow": "POST"})(scope, receive, send)
        return await self._app(scope, receive, send)
