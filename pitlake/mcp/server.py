"""The MCP server itself: the SDK's, with our tools, over stdio or streamable HTTP.

Over HTTP each request stands alone (no server-side session), and a host that is not this machine's own must be named.
Beyond this machine, ask for a token (pitlake.mcp.token) and put a proxy that speaks TLS in front.
"""

import socket
from collections.abc import Collection
from typing import Literal

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from pitlake import __version__
from pitlake.clock import iso
from pitlake.errors import BadInput
from pitlake.mcp.query_service import QueryService
from pitlake.mcp.reading import prompts, resources
from pitlake.mcp.token import Guarded, token
from pitlake.mcp.tools import tools

LOG_LEVEL: Literal["WARNING"] = "WARNING"
OWN_HOSTS = ("127.0.0.1", "localhost", "::1")


def server(service: QueryService) -> MCPServer[None]:
    """A server that answers at the service's instant."""
    asked = f"as of {iso(service.as_of)}" if service.as_of else "in open mode, outcomes included"
    if service.known_by:
        asked += f", as this lake was at {iso(service.known_by)}"
    made = MCPServer[None](
        name="pitlake",
        title="Point-in-time data lake",
        version=__version__,
        instructions=(
            f"Answers {asked}. What was not public then is not there, whatever you ask. Items say when they became "
            "public (available_at) or that they are computed. Call describe first, prefer run_query to SQL, and page "
            "on with next_cursor while truncated is true."
        ),
        tools=tools(service),
        resources=resources(service),
        log_level=LOG_LEVEL,
    )
    for prompt in prompts(service):
        made.add_prompt(prompt)
    return made


def serve_stdio(service: QueryService) -> None:
    """Serve one client over stdin and stdout, until it hangs up."""
    server(service).run("stdio")


def serve_http(service: QueryService, *, host: str, port: int, allowed_hosts: Collection[str] = ()) -> None:
    """Serve over streamable HTTP at /mcp, with $PITLAKE_MCP_TOKEN set to who brings it alone.

    allowed_hosts: names clients may call it by, needed beyond this machine. Raises BadInput when other machines could
    reach it and none is named, where it can't listen, and for a token too short to be secret.
    """
    security = None
    if allowed_hosts:
        security = TransportSecuritySettings(allowed_hosts=[*allowed_hosts, *(f"{name}:*" for name in allowed_hosts)])
    elif host not in OWN_HOSTS:
        raise BadInput("--host", "reachable from other machines", "name how clients call it with --allow-host NAME")
    expected = token()
    app: ASGIApp = server(service).streamable_http_app(stateless_http=True, transport_security=security, host=host)
    app = Guarded(app, expected) if expected else app
    with _listening(host, port) as listener:
        uvicorn.Server(uvicorn.Config(app, log_level=LOG_LEVEL.lower())).run([listener])


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as problem:
        said = f"can't listen at {host}, port {port}: {problem.strerror}"
        raise BadInput("--host, --port", said, "name another port, or a host of this machine") from None
