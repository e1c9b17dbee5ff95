"""`pitlake export --as-of T --to URL`: what was public at an instant as plain tables, for other engines."""

from typing import TYPE_CHECKING

import click

from pitlake.cli import render
from pitlake.cli.options import format_option
from pitlake.cli.sessions import opened, session_options, working

if TYPE_CHECKING:
    from pitlake.session import Viewpoint


@click.command("export")
@session_options
@click.option(
    "--to",
    "target",
    metavar="URL",
    required=True,
    help="Write into this empty folder or s3://bucket/prefix, or as Iceberg into iceberg://catalog/namespace.",
)
@click.option(
    "--dataset", "datasets", multiple=True, metavar="NAME", help="Export this dataset; can be repeated [default: all]."
)
@click.option(
    "--revisions", is_flag=True, help="Export all revisions that were public [default: the newest of each key]."
)
@format_option(("delta", "iceberg"), "tables")
def command(viewpoint: "Viewpoint", target: str, datasets: tuple[str, ...], revisions: bool, form: str) -> None:
    """Copy what was public at T into plain Delta or Iceberg tables.

    Each dataset becomes a table, and a receipt records the question. Readers of the copy are not sealed: they can join
    it with any other data.

    \b pitlake export --as-of 2024-02-15T16:00:00-05:00 --to exported --dataset prices
    """
    from pitlake.answers.export import RECEIPT, export

    with opened(viewpoint, datasets) as session, working("writing"):
        tables = export(session, target, revisions=revisions, form=form)
    rows = sum(table.rows for table in tables)
    counts = f"{render.count(rows, 'row')} in {render.count(len(tables), 'table')}"
    render.say(f"{counts} below {target}; the table {RECEIPT} records the question")
