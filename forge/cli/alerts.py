"""`pitlake forge desk`: the first page of the day."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from forge.cli.desk import lake_option
from pitlake.cli.options import format_option

if TYPE_CHECKING:
    from forge.tracking.morning import Morning

UNKNOWN = "not known"


@click.command()
@click.option("--as-of", metavar="T", help="Show the desk as of this time [default: now].")
@lake_option
@format_option(("text", "json"), "list")
def desk(as_of: str | None, lake: str | None, form: str) -> None:
    """Show P&L, positions, risk and what needs you.

    P&L is by period, View and Expression, against `[account] benchmark` if the settings name one. Alerts, whose
    thresholds are in `[alerts]`, and what waits for your approval need a decision. The end lists what was written since
    the last session.
    """
    from forge.desk import desk as opened
    from forge.memory.approvals import pending
    from forge.providers.base import At
    from forge.tracking.alerts import alerts
    from forge.tracking.morning import morning, records_since
    from pitlake import clock
    from pitlake.clock import iso
    from pitlake.lake.lake import Lake

    own = opened()
    memory = own.memory()
    at = clock.past(as_of) if as_of is not None else memory.read_instant(memory.journal.clock.now())
    market = At(as_of=at, lake=Lake(lake).root)
    remembered = memory.hydrate(at, session="pm")
    current, first = alerts(remembered, market, own.config), morning(remembered, market, own.config)
    lately = [
        (moment, record.id, getattr(record, "status", ""))
        for moment, record in records_since(remembered, first.overnight)
    ]
    waiting = [item.expression.id for item in pending(memory, own.guardrails(market), at)]
    if form == "json":
        as_json = [asdict(alert) for alert in current]
        as_lines = [{"at": iso(moment), "id": name, "status": status} for moment, name, status in lately]
        needs = {"alerts": as_json, "waiting": waiting, "written": as_lines}
        click.echo(json.dumps({"as_of": iso(at)} | first.as_json() | needs, ensure_ascii=False))
        return
    click.echo(f"as of {iso(at)}")
    for line in _lines(first):
        click.echo(line)
    click.echo("\nneeds a decision")
    for alert in current:
        click.echo(f"{alert.kind}: {alert.subject} {alert.text}")
    for name in waiting:
        click.echo(f"approval: {name} waits, see pitlake forge approvals")
    if not current and not waiting:
        click.echo("nothing needs you")
    click.echo(f"\nsince the last session ({iso(first.overnight)})")
    for moment, name, status in lately:
        click.echo(f"{iso(moment)} {name} {status.replace('_', ' ')}")
    if not lately:
        click.echo("nothing was written")


def _lines(first: "Morning") -> Iterator[str]:
    if isinstance(first.account, str):
        yield first.account
    else:
        yield f"net asset value {first.account.account.nav:>18,.2f} USD"
    for period in first.periods:
        amount = f"P&L of the {period.name:<5}{period.usd:>18,.2f} USD {period.percent:+.2f} % since {period.since}"
        yield amount + ("" if period.benchmark is None else f"   {first.benchmark} {period.benchmark:+.2f} %")
    if first.results:
        yield f"\nby View and Expression, USD   {'day':>14}{'month':>14}{'year':>14}"
    for row in first.results:
        name = "  ".join(filter(None, (row.view, row.expression)))
        yield f"{name:<29.29}" + "".join(f"{amount:>14,.0f}" for amount in row.amounts)
    yield f"\n{'positions':<21}{'value, USD':>14}{'day, USD':>14}{'to stop':>10}{'to target':>11}"
    for line in first.positions:
        name = " ".join(filter(None, (line.direction, line.instrument, line.expression)))
        amounts = "".join(f"{'' if amount is None else f'{amount:,.0f}':>14}" for amount in (line.value, line.day))
        levels = [f"{level:.2f} %" if level is not None else "none" for level in (line.to_stop, line.to_target)]
        yield f"{name:<21.21}{amounts}{levels[0]:>10}{levels[1]:>11}"
    if not first.positions:
        yield "none"
    yield "\nrisk, percent of capital"
    for name, number in first.risk.figures():
        yield f"{name:<29}{UNKNOWN if number is None else f'{number:.2f}':>14}"
    for case in first.scenarios:
        usd = "" if case.usd is None else f" % {case.usd:>14,.0f} USD"
        yield f"{case.name:<29}{UNKNOWN if case.percent is None else f'{case.percent:+.2f}':>14}{usd}"
    for gap in first.gaps:
        yield f"gap: {gap}"
