"""`pitlake backfill earnings`: builds snapshots and outcomes of releases, in one immediate Dagster run in this process.

The run is recorded in the instance at DAGSTER_HOME, so that the UI shows it. No daemon is needed.
"""

import click

from pitlake.cli import render
from pitlake.cli.options import lake_option


@click.group("backfill")
def command() -> None:
    """Build derived datasets for the past."""


@command.command("earnings")
@lake_option
@click.option("--tickers", metavar="A,B", help="Only these companies [default: all].")
@click.option("--from", "first", metavar="YYYY-MM-DD", help="From this New York day on.")
@click.option("--to", "last", metavar="YYYY-MM-DD", help="Up to and including this New York day.")
@click.option("--anchors", metavar="A,B", help="Instants to build snapshots at [default: all three].")
def earnings(lake: str | None, tickers: str | None, first: str | None, last: str | None, anchors: str | None) -> None:
    """Build earnings snapshots and outcomes for a range of releases."""
    from pipelines.commands._earnings import Wanted, backfill

    choice = Wanted.parsed(tickers, first, last, anchors)
    done = backfill(lake, choice, render.say)
    names = ("releases", "failed", "version")
    render.deliver(render.grid(names, [tuple(str(done[name]) for name in names)]), None)
    if done["failed"]:
        raise click.exceptions.Exit(1)
