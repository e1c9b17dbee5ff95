"""`pitlake mcp`: the MCP server for agents, over stdio or streamable HTTP. The server itself is pitlake.mcp."""

from typing import Any

import click

from pitlake.cli.options import (
    as_of_option,
    door,
    hindsight_option,
    isolation_option,
    known,
    known_by_option,
    lake_option,
    open_option,
    version_option,
)


@click.command("mcp")
@isolation_option
@hindsight_option
@lake_option
@version_option
@known_by_option
@open_option
@as_of_option
@click.option("--http", is_flag=True, help="Serve streamable HTTP at /mcp [default: stdio].")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on, with --http.")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=8000, show_default=True, help="Port to listen on, with --http."
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="Accept requests to this host name; required if other machines can reach the server. Can be repeated.",
)
@click.option("--receipts", is_flag=True, help="Keep the receipt of every answer in the lake [default: none].")
def command(
    as_of: str | None,
    open_mode: bool,
    known_by: str | None,
    http: bool,
    host: str,
    port: int,
    allowed_hosts: tuple[str, ...],
    receipts: bool,
    **asked: Any,
) -> None:
    """Serve agents over the Model Context Protocol.

    No call can see beyond --as-of, nor beyond --known-by. Over HTTP clients must send the bearer token of
    $PITLAKE_MCP_TOKEN, if it is set.

    \b
    pitlake mcp --as-of 2024-02-15T16:00:00-05:00
    """
    instant, at = door(as_of, open_mode), known(known_by, asked["version"])
    from pitlake.lake.lake import Lake
    from pitlake.mcp.query_service import QueryService
    from pitlake.mcp.server import serve_http, serve_stdio

    lake = Lake(asked["lake"])  # what is not there is refused now, not at the first question
    lake.entry(lake.version_at(at) if at else asked["version"])
    service = QueryService(as_of=instant, known_by=at, keep_receipts=receipts, **asked)
    if http:
        serve_http(service, host=host, port=port, allowed_hosts=allowed_hosts)
    else:
        serve_stdio(service)
