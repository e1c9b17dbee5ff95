"""`pitlake forge desk`: the first page of the day."""

import json

import click

from forge.cli.desk import lake_option
from pitlake.cli.options import format_option


@click.command()
@click.option("--as-of", metavar="T", help="Show the desk as of this time [default: now].")
@click.option(
    "--send",
    type=click.Choice(["brief", "alerts"]),
    help="Also send the page, or only its alerts if there are any, to the channels in FORGE_NOTIFY.",
)
@lake_option
@format_option(("text", "json"), "list")
def desk(as_of: str | None, send: str | None, lake: str | None, form: str) -> None:
    """Show P&L, positions, risk and what needs you.

    P&L is by period, View and Expression, against `[account] benchmark` if the settings name one. Alerts, whose
    thresholds are in `[alerts]`, and what waits for your approval need a decision. The end lists what was written since
    the last session.
    """
    from forge.desk import brief
    from forge.desk import desk as opened
    from forge.providers.base import At
    from pitlake import clock
    from pitlake.lake.lake import Lake

    own = opened()
    memory = own.memory()
    at = clock.past(as_of) if as_of is not None else memory.read_instant(memory.journal.clock.now())
    page = brief.brief(own, memory, At(as_of=at, lake=Lake(lake).root))
    click.echo(json.dumps(page.as_json(), ensure_ascii=False) if form == "json" else "\n".join(page.lines()))
    if send == "brief" or (send and page.alerts):
        brief.send(page.title, page.lines() if send == "brief" else map(str, page.alerts))
