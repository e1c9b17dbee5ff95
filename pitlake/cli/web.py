"""`pitlake web`: the time machine as web pages on this machine, implemented by pitlake.web."""

from datetime import timedelta
from typing import Any

import click

from pitlake.cli.options import isolation_option, lake_option


@click.command("web")
@isolation_option
@lake_option
@click.option(
    "--as-of", metavar="T", help="Time of the first page; the reader can go to any other [default: an hour ago]."
)
@click.option("--ticker", metavar="TICKER", help="Company of the first page [default: the list of companies].")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8765,
    show_default=True,
    help="Port to listen on; 0 picks a free one.",
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="Accept requests to this host name; required if other machines can reach the server, whose readers need no "
    "login. Can be repeated.",
)
@click.option(
    "--browse", is_flag=True, help="Open the first page in this machine's browser [default: print its address]."
)
def command(
    as_of: str | None,
    ticker: str | None,
    host: str,
    port: int,
    allowed_hosts: tuple[str, ...],
    browse: bool,
    lake: str | None,
    isolation: Any,
) -> None:
    """Show what was public at any instant as web pages.

    With Forge installed they include its desk.

    \b
    pitlake web --as-of 2024-05-29T17:00:00-04:00 --ticker NVDA
    """
    from pitlake import clock, extensions
    from pitlake.web import serve
    from pitlake.web.address import Address, parse_address, parse_instant
    from pitlake.web.app import ServerSettings
    from pitlake.web.pool import Pool

    begin = as_of or clock.iso((clock.now() - timedelta(hours=1)).replace(microsecond=0))
    if ticker is None:
        home = Address(parse_instant({"as_of": begin}), "")
    else:
        home = parse_address({"as_of": begin, "ticker": ticker})
    rooms = extensions.pages()
    pool = Pool(lake, isolation)
    settings = ServerSettings(pool, home, serve.token(), allowed_hosts, rooms)

    def listening(address: str) -> None:
        click.echo(f"{address}{home.first_page}")
        click.echo(f"to change something, open {address}/unlock with the token {settings.token}", err=True)
        if browse:
            click.launch(f"{address}{home.first_page}")

    serve.serve(settings, host, port, listening)
