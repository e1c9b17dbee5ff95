"""The MCP server: the SDK's server with our tools, over stdio or streamable HTTP (pitlake.mcp.http)."""

from typing import Literal

from mcp.server.mcpserver import MCPServer

from pitlake import __version__
from pitlake.clock import iso
from pitlake.mcp.query_service import QueryService
from pitlake.mcp.reading import prompts, resources
from pitlake.mcp.tools import tools

LOG_LEVEL: Literal["WARNING"] = "WARNING"


def server(service: QueryService) -> MCPServer[None]:
    """Return a server that answers as of the service's instant."""
    cut_off = f"as of {iso(service.viewpoint.as_of)}" if service.viewpoint.as_of else "in open mode, outcomes included"
    if service.viewpoint.known_by:
        cut_off += f", as this lake was at {iso(service.viewpoint.known_by)}"
    model = service.viewpoint.model
    verdict = f" The model that asks is {': '.join(model.judge(service.viewpoint.as_of))}." if model else ""
    mcp_server = MCPServer[None](
        name="pitlake",
        title="Point-in-time data lake",
        version=__version__,
        instructions=(
            f"Answers {cut_off}. Data that was not public then is absent from every answer. Items say when they became "
            "public (available_at) or that they are computed. Call describe first, prefer run_query to SQL, and page "
            f"on with next_cursor while truncated is true.{verdict}"
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
