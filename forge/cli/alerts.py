"""`pitlake forge desk`: shows what needs the PM."""

import json
from dataclasses import asdict

import click

from forge.cli.desk import lake_option
from pitlake.cli.options import format_option


@click.command()
@click.option("--as-of", metavar="T", help="Show the desk as of this time [default: now].")
@lake_option
@format_option(("text", "json"), "list")
def desk(as_of: str | None, lake: str | None, form: str) -> None:
    """Show alerts, and what waits for your approval.

    Alerts are computed by code. `[alerts]` in the settings has their thresholds.
    """
    from forge.desk import desk as opened
    from forge.memory.approvals import pending
    from forge.providers.base import At
    from forge.tracking.alerts import alerts
    from pitlake import clock
    from pitlake.clock import iso
    from pitlake.lake.lake import Lake

    own = opened()
    memory = own.memory()
    at = clock.past(as_of) if as_of is not None else memory.read_instant(memory.journal.clock.now())
    market = At(as_of=at, lake=Lake(lake).root)
    current = alerts(memory.hydrate(at, session="pm"), market, own.config)
    waiting = [item.expression.id for item in pending(memory, own.guardrails(market), at)]
    if form == "json":
        as_json = [asdict(alert) for alert in current]
        click.echo(json.dumps({"as_of": iso(at), "alerts": as_json, "waiting": waiting}, ensure_ascii=False))
        return
    click.echo(f"as of {iso(at)}")
    for alert in current:
        click.echo(f"{alert.kind}: {alert.subject} {alert.text}")
    for name in waiting:
        click.echo(f"approval: {name} waits, see pitlake forge approvals")
    if not current and not waiting:
        click.echo("nothing needs you")
