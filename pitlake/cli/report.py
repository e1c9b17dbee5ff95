"""`pitlake report`: the quality report of a lake version, as a folder of pages that open offline."""

from pathlib import Path

import click

from pitlake.cli import render
from pitlake.cli.options import lake_option, version_option
from pitlake.cli.sessions import working

DEFAULT_FOLDER = Path(".pitlake") / "report"


@click.command("report")
@lake_option
@version_option
@click.option("--since", type=int, metavar="N", help="Compare with this version [default: that of the run before].")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEFAULT_FOLDER,
    show_default=True,
    help="Folder to write the pages into.",
)
def command(lake: str | None, version: int | None, since: int | None, output: Path) -> None:
    """Write the quality report of a lake version as a folder of pages.

    The report covers coverage, gaps, late arrivals, revisions, checks, and changes. It counts everything in the
    version, including outcomes, and shows rows that fail checks. It is for people who run the lake, not for agents.
    """
    from pitlake.lake.lake import Lake
    from pitlake.report import site

    with working("reading the lake") as progress:
        site.write(site.read(Lake(lake), version=version, since=since, progress=progress), output)
    render.deliver(f"{(output / site.INDEX).absolute()}\n".encode(), None)
