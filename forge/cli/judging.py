"""Judging of forecasts by code: `pitlake forge settle | calibrate`."""

import click

from forge.cli.desk import lake_option
from forge.cli.memories import own_desk


@click.command()
@lake_option
def settle(lake: str | None) -> None:
    """Settle what is due now.

    As the hourly schedule does, it settles Views, executes and closes trades, and follows trades not taken.
    """
    from forge.providers.base import At
    from forge.tracking.receipts import recorded_cut_offs
    from forge.tracking.work import settle_due
    from pitlake.lake.lake import Lake

    own = own_desk()
    memory = own.memory()
    now = At(as_of=memory.read_instant(memory.journal.clock.now()), lake=Lake(lake).root)
    changes, gaps = settle_due(memory, now, recorded_cut_offs(own.tape), own.config)
    memory.flush()
    click.echo("\n".join(changes) or "nothing was due")
    for gap in gaps:
        click.echo(gap, err=True)


@click.command()
def calibrate() -> None:
    """Score settled forecasts by category, and show the scores.

    The lead is the median time for which a right View was right before its answer was public.
    """
    from typing import cast

    from forge.records import Calibration
    from forge.tracking.calibration import calibrate as measure
    from forge.tracking.settlement import whole_memory
    from forge.tracking.work import describe

    memory = own_desk().memory()
    now = memory.read_instant(memory.journal.clock.now())
    if measure(memory, now):
        memory.flush()
    remembered = whole_memory(memory, now)
    lines = [describe(cast("Calibration", remembered.record(row))) for row in remembered.rows("calibration")]
    click.echo("\n".join(lines) or "no View was settled")


COMMANDS = (settle, calibrate)
