"""The account: `pitlake forge fills import | list | void | restore`, `cash | book | halt | release`."""

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from forge.cli.desk import DAY, lake_option
from forge.cli.memories import own_desk
from forge.core.entries import ENTRIES
from pitlake.cli.options import format_option

if TYPE_CHECKING:
    from forge.tracking.valuation import Valued

NAME_WIDTH, DECIMALS = 9, 6


@click.group()
def fills() -> None:
    """Manage what you bought and sold."""


@fills.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--ticket",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Order ticket that the fills must match [default: none].",
)
def import_(file: Path, ticket: Path | None) -> None:
    """Add the fills of a CSV file to the account.

    Its columns: ticker, quantity (negative for a sale), price, filled_at such as 2024-02-15T10:30:00-05:00; optionally
    fees, expression, and currency, such as EUR, of price and fees [default: USD]. A future's quantity is in contracts,
    whose terms are in the settings. A fill that was imported before is not imported again, even if it is void. With a
    ticket, a fill without an Expression belongs to the ticket's, and a fill of another ticker or side, or beyond the
    order, is refused.
    """
    from forge.desk.commands import add_fills

    own = own_desk()
    _tell(*add_fills(own, own.memory(), file, _market_lake(None), ticket))


@fills.command("list")
def list_() -> None:
    """List the fills, including void ones."""
    from forge.memory.fills import all_fills
    from pitlake.clock import iso

    memory = own_desk().memory()
    recorded = all_fills(memory.hydrate_now())
    if not recorded:
        click.echo("There are no fills yet.")
    for fill in recorded:
        text = f"{fill.id} {iso(fill.filled_at)} {fill.quantity:g} {fill.instrument} at {fill.price:g}"
        click.echo(
            " ".join(filter(None, (text, fill.expression, f"{fill.status}: {fill.reason}" if fill.reason else "")))
        )


@fills.command()
@click.argument("name", metavar="ID")
@click.option("--reason", required=True, help="The reason, which is stored with the fill.")
def void(name: str, reason: str) -> None:
    """Undo a wrong fill.

    The fill stays in the record. The account leaves it out, from its day on. Code does not execute its Expression
    again: import the right fill.
    """
    from forge.desk.commands import undo_fill

    own = own_desk()
    _tell(*undo_fill(own, own.memory(), name, reason, _market_lake(None)))


@fills.command()
@click.argument("name", metavar="ID")
@click.option("--reason", required=True, help="The reason, which is stored with the fill.")
def restore(name: str, reason: str) -> None:
    """Book a void fill again. The account counts it, from its day on."""
    from forge.desk.commands import undo_fill

    own = own_desk()
    _tell(*undo_fill(own, own.memory(), name, reason, _market_lake(None), "booked"))


@click.command()
@click.argument("entry", type=click.Choice(ENTRIES))
@click.argument("amount", type=float)
@click.option("--on", "day", type=DAY, help="Day on which it takes effect [default: today].")
@click.option("--ticker", default="", help="Ticker of the position that a borrow or a loss is for.")
@click.option("--reason", required=True, help="The reason, which is stored with the entry.")
def cash(entry: Any, amount: float, day: datetime | None, ticker: str, reason: str) -> None:
    """Book a deposit, withdrawal, fee, interest, borrow or loss.

    Fees and interest are those that you paid. A borrow is a rate in percent a year: it is charged for every day from
    --on, on the value of the shares of --ticker that are sold short. A loss is of your own position in --ticker, which
    has no stop, in percent of its value: without it, the loss of a short position is missing and nothing is approved.
    """
    from forge.desk.commands import enter_cash
    from forge.memory.cash import Entry
    from pitlake.clock import new_york_day

    own = own_desk()
    memory = own.memory()
    booked_on = day.date() if day else new_york_day(memory.journal.clock.now())
    _tell(*enter_cash(own, memory, Entry(entry, amount, booked_on, reason, ticker), _market_lake(None)))


@click.command()
@click.option("--as-of", metavar="T", help="Show the account as of this time [default: now].")
@lake_option
@format_option(("text", "json"), "account")
def book(as_of: str | None, lake: str | None, form: str) -> None:
    """Show positions, cash, net asset value and P&L.

    They are computed from the fills and the market's bars as of that time.
    """
    from forge.memory.halts import halted
    from forge.providers.base import At
    from forge.tracking.valuation import value_account
    from pitlake import clock

    own = own_desk()
    if not own.run:
        own.check_capital()
    memory = own.memory()
    own.open_account(memory)
    at = clock.past(as_of) if as_of is not None else memory.read_instant(memory.journal.clock.now())
    remembered = memory.hydrate(at, session="pm")
    valued = value_account(remembered, At(as_of=at, lake=_market_lake(lake)), own.config.account.capital)
    halt = halted(remembered)
    if form == "json":
        click.echo(json.dumps(_account_json(valued, at, halt.reason if halt else None), ensure_ascii=False))
        return
    account, sums = valued.account, valued.account.sums()
    amounts = [
        ("net asset value", account.nav),
        ("cash", account.cash),
        ("closed P&L", sums["closed_pnl"]),
        ("open P&L", sums["open_pnl"]),
        ("dividends", sums["dividends"]),
        ("fees", 0.0 - sums["fees"]),
        ("financing", sums["financing"]),
        *([("margin used", sums["margin"])] if sums["margin"] else []),
    ]
    lines = [f"as of {clock.iso(at)}", *(f"{name:<16}{amount:>18,.2f} USD" for name, amount in amounts)]
    lines.append(f"{'drawdown':<16}{sums['drawdown_pct']:>18.2f} %")
    if account.positions:
        lines += [
            "",
            f"{'ticker':<9}{'Expression':<12}{'quantity':>11}{'cost':>11}{'price':>11}{'exposure':>13}{'open':>12}",
        ]
    for holding in account.positions:
        name = holding.instrument
        if holding.terms or len(name) >= NAME_WIDTH:
            lines, name = [*lines, ", ".join(filter(None, (name, holding.terms)))], ""
        lines.append(
            f"{name:<{NAME_WIDTH}}{holding.expression[:11]:<12}{holding.quantity:>11,.6g}{holding.cost:>11,.2f}"
            f"{holding.price:>11,.2f}{holding.exposure:>13,.0f}{holding.open:>12,.0f}"
        )
    lines += [*(f"gap: {gap}" for gap in valued.gaps), *(f"note: {note}" for note in valued.notes)]
    click.echo("\n".join(lines))
    if halt:
        click.echo(f"TRADING IS HALTED by {halt.by}: {halt.reason}")


def _switch_command(name: str, status: Literal["halted", "released"], text: str) -> click.Command:
    @click.command(name, help=text)
    @click.option("--reason", required=True, help="The reason, which is stored in memory.")
    def command(reason: str) -> None:
        from forge.desk.commands import switch_trading

        click.echo(switch_trading(own_desk().memory(), status, reason))

    return command


halt = _switch_command("halt", "halted", "Stop approvals and new entries until you release trading.")
release = _switch_command("release", "released", "Release trading that you or a limit halted.")


def _account_json(valued: "Valued", at: datetime, halted: str | None) -> dict[str, Any]:
    from forge.core.currencies import USD
    from pitlake.clock import iso

    positions = [
        {
            "ticker": holding.instrument,
            "expression": holding.expression or None,
            "quantity": round(holding.quantity, DECIMALS),
            "cost": round(holding.cost, DECIMALS),
            "price": round(holding.price, DECIMALS),
            "currency": holding.currency or USD,
            "multiplier": holding.multiplier,
            "margin": round(holding.margin, DECIMALS),
            "exposure": round(holding.exposure, DECIMALS),
            "value": round(holding.value, DECIMALS),
            "open_pnl": round(holding.open, DECIMALS),
            "closed_pnl": round(holding.closed, DECIMALS),
            "dividends": round(holding.income, DECIMALS),
        }
        for holding in valued.account.positions
    ]
    account = {
        "as_of": iso(at),
        "nav": round(valued.account.nav, DECIMALS),
        "cash": round(valued.account.cash, DECIMALS),
    }
    sums = {name: round(number, DECIMALS) for name, number in valued.account.sums().items()}
    gaps = {"gaps": list(valued.gaps), "notes": list(valued.notes)}
    return account | sums | {"halted": halted, "positions": positions} | gaps


def _tell(done: str, gaps: list[str]) -> None:
    click.echo(done)
    for gap in gaps:
        click.echo(gap, err=True)


def _market_lake(lake: str | None) -> str | Path:
    from pitlake.lake.lake import Lake

    return Lake(lake).root


COMMANDS = (fills, cash, book, halt, release)
