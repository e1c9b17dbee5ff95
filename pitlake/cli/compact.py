"""`pitlake compact`: merge the files of finished months and years. Rows and answers stay as they are."""

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
    from pitlake.datasets import all_datasets, get
    from pitlake.lake.lake import Lake

    chosen = [get(name) for name in datasets or all_datasets()]  # every name, before anything is merged
    opened = Lake(lake)
    opened.head()
    done = [opened.compact(dataset, before) for dataset in chosen]
    rows = [(one.dataset, str(one.files_before), str(one.files_after), str(one.version)) for one in done if one.changed]
    render.deliver(render.grid(("dataset", "files before", "files after", "version"), rows), None)
