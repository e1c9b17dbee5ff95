"""`pitlake compact`: merge the files of finished months and years. Rows and answers don't change."""

import click

from pitlake.cli import render
from pitlake.cli.options import lake_option
from pitlake.cli.sessions import working


@click.command("compact")
@lake_option
@click.argument("datasets", nargs=-1, metavar="[DATASET]...")
@click.option("--before", metavar="YYYY-MM", help="First month that is not merged [default: the newest with rows].")
def command(lake: str | None, datasets: tuple[str, ...], before: str | None) -> None:
    """Merge finished months and years into one file each.

    Sessions read these files directly. Without a DATASET all datasets are compacted. If texts for
    searches by words were merged, their index is built on this machine too, which the first search would otherwise do.
    """
    from pitlake.lake.lake import Lake
    from pitlake.session import index_searches

    opened_lake = Lake(lake)
    every = datasets or opened_lake.contracts()
    chosen = [opened_lake.contract(name) for name in every]  # Check all names before merging anything.
    opened_lake.head()
    done = [result for dataset in chosen if (result := opened_lake.compact(dataset, before)).changed]
    with working("indexing words"):
        index_searches(opened_lake, [result.dataset for result in done])
    rows = [(result.dataset, str(result.files_before), str(result.files_after), str(result.version)) for result in done]
    render.deliver(render.grid(("dataset", "files before", "files after", "version"), rows), None)
