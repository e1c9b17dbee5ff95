"""`pitlake forge backtest` and `fork`: decide a past period day by day, or repeat a decision with a changed input."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forge.cli.desk import DAY, lake_option
from forge.cli.memories import own_desk, run_option

if TYPE_CHECKING:
    from forge.agent.fork import ForkChange


@click.command()
@click.option("--from", "since", type=DAY, required=True, help="First day, in New York.")
@click.option("--to", "until", type=DAY, required=True, help="Last day, included.")
@click.option(
    "--triggers", default="morning,eod,weekly", show_default=True, help="Schedules to run, separated by commas."
)
@click.option(
    "--every",
    type=click.Choice(["whole", "quarter", "month"]),
    default="whole",
    show_default=True,
    help="Split the period into independent runs, each with its own memory.",
)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Run this many runs in parallel.")
@click.option(
    "--masked",
    is_flag=True,
    help="Run each a second time with names, tickers, ids and years replaced, to measure the effect of the model's "
    "memory.",
)
@click.option("--again", is_flag=True, help="Run each a second time unchanged, to measure the noise between two runs.")
@click.option("--name", help="Name of the run; the same name resumes it [default: its days].")
@lake_option
def backtest(  # noqa: PLR0913 - its options
    since: datetime, until: datetime, triggers: str, every: str, jobs: int, masked: bool, again: bool,
    name: str | None, lake: str | None,
) -> None:  # fmt: skip
    """Decide a past period as of every scheduled instant.

    Memory is simulated. A run that was interrupted continues when started again.
    """
    from dataclasses import replace
    from typing import cast

    from forge.walk.plan import Every, Walk
    from forge.walk.report import page
    from forge.walk.run import run_all

    ground = own_desk().ground(lake)
    whole = Walk(
        name=name or f"{since:%Y-%m-%d}-to-{until:%Y-%m-%d}",
        since=since.date(),
        until=until.date(),
        triggers=tuple(triggers.split(",")),
        plan=ground.config.schedules,
    )
    walks = whole.split(cast("Every", every))
    masked_walks = [replace(walk, name=f"{walk.name}-masked", masked=True) for walk in walks if masked]
    walks += masked_walks + [replace(walk, name=f"{walk.name}-again", again=True) for walk in walks if again]
    ground.models("agent")
    for result in run_all(walks, ground, jobs, told):
        ended = ", ".join(f"{count} {end}" for end, count in result.ends.items())
        stopped = f"; stopped: {result.stopped}" if result.stopped else ""
        click.echo(f"{result.name}: {result.decisions} decisions ({ended}){stopped}")
    place = ground.folder / f"{whole.name}.html"
    place.write_text(page(walks, ground), encoding="utf-8")
    click.echo(f"page: {place}")


@click.command()
@click.argument("decision")
@click.option("--step", type=click.IntRange(1), default=1, show_default=True, help="Number of the step to change.")
@click.option(
    "--set", "change", required=True, help="The change: answer=TEXT, answer=@FILE, model=NAME, or skills=FOLDER."
)
@lake_option
@run_option
def fork(decision: str, step: int, change: str, lake: str | None) -> None:
    """Repeat a decision with one input changed.

    All other inputs come from the decision's tape. The output shows the differences step by step.
    """
    import asyncio

    from forge.agent.fork import fork as forked

    own = own_desk()
    memory = own.memory(own.clock_of(decision))
    result = asyncio.run(forked(own.agent(memory, lake), decision, _change(step, change)))
    for difference in result.differences:
        click.echo(f"step {difference.step} of {difference.lane} ({difference.kind}): {difference.change}")
    click.echo(f"{result.same} steps are the same, {len(result.differences)} differ")
    if result.answer is None:
        raise SystemExit(1)
    click.echo(result.answer)


def _change(step: int, text: str) -> "ForkChange":
    from forge.agent.fork import ForkChange
    from forge.core.known_models import DEFAULTS
    from forge.model.routing import Routing
    from pitlake.cli.sessions import typed
    from pitlake.errors import BadInput

    name, _, value = text.partition("=")
    if name == "answer" and value[:1] == "@":
        return ForkChange(step=step, answer=typed(lambda: Path(value[1:]).read_text(encoding="utf-8"), "FILE"))
    if name == "answer":
        return ForkChange(step=step, answer=value)
    if name == "skills" and Path(value).is_dir():
        return ForkChange(skills=Path(value))
    routing = Routing({"agent": value})
    if name == "model" and value and routing.model_name("agent") == DEFAULTS.get(value, value):
        return ForkChange(step=step, models=routing.model)
    raise BadInput(
        "set", f"{text[:60]!r} changes nothing", "give answer=…, skills=FOLDER, or a model=… that no variable names"
    )


def told(line: str) -> None:
    """Print progress to stderr, also from worker processes."""
    click.echo(f"  {line}", err=True)
