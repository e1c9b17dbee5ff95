"""`pitlake mcp`: the MCP server for agents, over stdio or streamable HTTP. pitlake.mcp implements it."""

from typing import TYPE_CHECKING

import click

from pitlake.cli import render
from pitlake.cli.options import http_options, model_options
from pitlake.cli.sessions import session_options

if TYPE_CHECKING:
    from pitlake.session import Viewpoint


@click.command("mcp")
@session_options
@model_options
@http_options
@click.option("--receipts", is_flag=True, help="Store the receipt of every answer in the lake [default: none].")
def command(
    viewpoint: "Viewpoint", http: bool, host: str, port: int, allowed_hosts: tuple[str, ...], receipts: bool
) -> None:
    """Serve agents over the Model Context Protocol.

    No call can see beyond --as-of or --known-by. Over HTTP clients must send the bearer token of
    $PITLAKE_MCP_TOKEN, if it is set.

    \b
    pitlake mcp --as-of 2024-02-15T16:00:00-05:00
    """
    from pitlake.mcp.query_service import QueryService

    lake, known_by = viewpoint.open_lake(), viewpoint.known_by
    lake.entry(lake.version_at(known_by) if known_by else viewpoint.version)  # Refuse a missing lake before serving.
    service = QueryService(viewpoint=viewpoint, keep_receipts=receipts)
    if not http:
        service.open_ahead()
    # The SDK is the slowest import.
    from pitlake.mcp.server import serve_stdio, server

    if http:
        import anyio

        from pitlake.mcp.http import HttpAddress

        address = HttpAddress(host, port, allowed_hosts)
        anyio.run(address.serve, server(service), lambda: render.say(f"listening at {address.url}"))
    else:
        serve_stdio(service)
