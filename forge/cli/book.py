"""Changes to the book by the PM: `pitlake forge close | adjust | constrain`."""

import getpass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from forge.cli.desk import DAY, by_option, market_of
from forge.cli.memories import own_desk

if TYPE_CHECKING:
    from forge.records import Expression


@click.command()
@click.argument("name", metavar="ID")
@click.option("--reason", required=True, help="The reason, which becomes the exit reason of the Outcome.")
@by_option
def close(name: str, reason: str, by: str | None) -> None:
    """Close a held position at the end of the next session.

    Without a bar on that day, it is closed at the next bar's open.
    """
    changed = _change(name, by, {"exit_reason": reason})
    click.echo(f"{name} closes at the end of {changed.expires}, or with the next bar after it")


@click.command()
@click.argument("name", metavar="ID")
@click.option("--stop", help="New stop in USD, as traded now [default: unchanged].")
@click.option("--target", help="New target in USD, as traded now [default: unchanged].")
@click.option("--expires", type=DAY, help="New last day, such as 2024-06-28 [default: unchanged].")
@by_option
def adjust(name: str, stop: str | None, target: str | None, expires: datetime | None, by: str | None) -> None:
    """Change the stop, target or last day of a held position.

    The new terms apply from the open of the next session.
    """
    from pitlake.errors import BadInput

    terms = {"stop": stop, "target": target, "expires": expires.date() if expires else None}
    changed = {term: value for term, value in terms.items() if value is not None}
    if not changed:
        raise BadInput("--stop", "no change is given", "give --stop, --target or --expires")
    _change(name, by, changed)
    click.echo(f"{name}: {', '.join(f'{term} {value}' for term, value in changed.items())}")


def _change(name: str, by: str | None, terms: dict[str, Any]) -> "Expression":
    from forge.memory.approvals import change_held

    own = own_desk()
    memory = own.memory()
    guardrails = own.guardrails(market_of(None, memory), memory)
    changed = change_held(memory, name, by or getpass.getuser(), guardrails, terms, own.config.approvers)
    memory.flush()
    return changed


@click.command()
@click.option("--max-single-risk", type=float, help="Largest loss of one trade, in percent of capital.")
@click.option("--max-gross", type=float, help="Largest gross exposure, in percent of capital.")
@click.option("--max-duration", type=float, help="Largest duration of one trade, in years.")
@click.option("--max-factor-conc", type=float, help="Largest exposure to one factor, in percent of capital.")
@click.option("--max-single-name", type=float, help="Largest exposure to one instrument, in percent of capital.")
@click.option("--max-total-loss", type=float, help="Largest loss if all stops are hit, in percent of capital.")
@click.option("--max-net", type=float, help="Largest net exposure, long or short, in percent of capital.")
@click.option("--max-days-of-volume", type=float, help="Largest size of one trade, in average days of volume.")
@click.option("--max-margin", type=float, help="Largest initial margin of all futures, in percent of capital.")
def constrain(**limits: float | None) -> None:
    """Set limits tighter than the settings'.

    Limits that you leave out keep their values.
    """
    from forge.desk.commands import constrain as tighten

    own = own_desk()
    changed = {name: limit for name, limit in limits.items() if limit is not None}
    tighten(own, own.memory(), changed)
    click.echo(", ".join(f"{name} {limit:g}" for name, limit in changed.items()))


COMMANDS = (close, adjust, constrain)
