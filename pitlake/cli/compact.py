"""`pitlake compact`: close months and years, one file each. Rows and answers stay as they are."""

import click

from pitlake.cli import render
from pitlake.cli.options import lake_option


@click.command("compact")
@lake_option
@click.argument("datasets", nargs=-1, metavar="[DATASET]...")
@click.option("--before", metavar="YYYY-MM", help="The first month not to compact [default: the newest with rows].")
def command(lake: str | None, datasets: tuple[str, ...], before: str | None) -> None:
    """Close months and years, of these datasets or of all: one file each, which sessions are given as it lies.

    A lake of an earlier release is brought up to date so.
    """
    from pitlake.datasets import all_datasets, get
    from pitlake.lake.lake import Lake

    chosen = [get(name) for name in datasets or all_datasets()]  # every name, before anything is merged
    opened = Lake(lake)
    opened.head()
    done = [opened.compact(dataset, before) for dataset in chosen]
    rows = [(one.dataset, str(one.files_before), str(one.files_after), str(one.version)) for one in done if one.changed]
    render.deliver(render.grid(("dataset", "files before", "files after", "version"), rows), None)
