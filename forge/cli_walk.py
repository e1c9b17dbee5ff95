"""`pitlake forge backtest`: a period decided again, day by day, and its page."""

from datetime import datetime
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from forge.walk.run import Ground

DAY = click.DateTime(["%Y-%m-%d"])


@click.command()
@click.option("--from", "since", type=DAY, required=True, help="First day, New York.")
@click.option("--to", "until", type=DAY, required=True, help="Last day.")
@click.option("--triggers", default="morning,eod,weekly", show_default=True, help="Which schedules ask.")
@click.option(
    "--every",
    type=click.Choice(["whole", "quarter", "month"]),
    default="whole",
    show_default=True,
    help="Cut the period into independent runs, each with a memory of its own.",
)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="How many of them run at once.")
@click.option("--masked", is_flag=True, help="Run each a second time with names, tickers and years replaced.")
@click.option("--name", help="Of the run, to go on with it [default: its days].")
@click.option("--lake", metavar="PLACE", help="The market's lake.")
def backtest(
    since: datetime, until: datetime, triggers: str, every: str, jobs: int, masked: bool, name: str | None,
    lake: str | None,
) -> None:  # fmt: skip
    """Decide a period as of every instant a schedule would have asked, on simulated memory; killed, it goes on."""
    from dataclasses import replace
    from typing import cast

    from forge.walk.plan import Every, Walk
    from forge.walk.report import page
    from forge.walk.run import run_all

    whole = Walk(
        name=name or f"{since:%Y-%m-%d}-to-{until:%Y-%m-%d}",
        since=since.date(),
        until=until.date(),
        triggers=tuple(triggers.split(",")),
    )
    walks = whole.split(cast("Every", every))
    walks += [replace(one, name=f"{one.name}-masked", masked=True) for one in walks] if masked else []
    ground = _ground(lake)
    ground.models("agent")
    for one in run_all(walks, ground, jobs, told):
        ended = ", ".join(f"{count} {end}" for end, count in one.ends.items())
        click.echo(f"{one.name}: {one.decisions} decisions ({ended})")
    place = ground.folder / f"{whole.name}.html"
    place.write_text(page(walks, ground), encoding="utf-8")
    click.echo(f"page: {place}")


def told(line: str) -> None:
    """Progress, on stderr; of a process beside this one too."""
    click.echo(f"  {line}", err=True)


def _ground(lake: str | None) -> "Ground":
    from forge.desk import desk

    return desk().ground(lake)
