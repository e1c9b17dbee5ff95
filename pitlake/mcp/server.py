"""The MCP server itself: the SDK's, with our tools, over stdio or streamable HTTP.

Over HTTP each request stands alone (no server-side session), and a host that is not this machine's own must be named.
There is no login here: beyond this machine, put a proxy with one in front. Called by `pitlake mcp`.
"""

from collections.abc import Collection

from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

from pitlake import __version__
from pitlake.clock import iso
from pitlake.errors import BadInput
from pitlake.mcp.desk import Desk
from pitlake.mcp.tools import tools

OWN_HOSTS = ("127.0.0.1", "localhost", "::1")


def server(desk: Desk) -> MCPServer[None]:
    """A server that answers at the desk's instant."""
    asked = f"as of {iso(desk.as_of)}" if desk.as_of else "in open mode, outcomes included"
    return MCPServer(
        name="pitlake",
        title="Point-in-time data lake",
        version=__version__,
        instructions=(
            f"Answers {asked}. What was not public then is not there, whatever you ask. Every item says when it became "
            "public (available_at) and what dates it. Call describe first, prefer run_query to SQL, and page on with "
            "next_cursor while truncated is true."
        ),
        tools=tools(desk),
        log_level="WARNING",
    )


def serve_stdio(desk: Desk) -> None:
    """Serve one client over stdin and stdout, until it hangs up."""
    server(desk).run("stdio")


def serve_http(desk: Desk, *, host: str, port: int, allowed_hosts: Collection[str] = ()) -> None:
    """Serve over streamable HTTP at /mcp. allowed_hosts: names clients may call it by, needed beyond this machine.

    Raises BadInput when other machines could reach it and none is named.
    """
    security = None
    if allowed_hosts:
        security = TransportSecuritySettings(allowed_hosts=[*allowed_hosts, *(f"{name}:*" for name in allowed_hosts)])
    elif host not in OWN_HOSTS:
        raise BadInput("--host", "reachable from other machines", "name how clients call it with --allow-host NAME")
    server(desk).run("streamable-http", host=host, port=port, stateless_http=True, transport_security=security)
