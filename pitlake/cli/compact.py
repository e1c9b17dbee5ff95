"""`pitlake compact`: merge the files of finished months and years. Rows and answers don't change."""

import click

from pitlake.cli import render
from pitlake.cli.options import lake_option


@click.command("compact")
@lake_option
@click.argument("datasets", nargs=-1, metavar="[DATASET]...")
@click.option("--before", metavar="YYYY-MM", help="First month that is not merged [default: the newest with rows].")
def command(lake: str | None, datasets: tuple[str, ...], before: str | None) -> None:
    """Merge finished months and years into one file each.

    Sessions read these files directly. Without a DATASET all datasets are compacted.
    """
    from pitlake.lake.lake import Lake

    opened_lake = Lake(lake)
    every = datasets or opened_lake.contracts()
    chosen = [opened_lake.contract(name) for name in every]  # Check all names before merging anything.
    opened_lake.head()
    done = [opened_lake.compact(dataset, before) for dataset in chosen]
    rows = [
        (result.dataset, str(result.files_before), str(result.files_after), str(result.version))
        for result in done
        if result.changed
    ]
    render.deliver(render.grid(("dataset", "files before", "files after", "version"), rows), None)
