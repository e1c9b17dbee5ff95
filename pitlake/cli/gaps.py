"""`pitlake gaps`: source records that could not become rows and were public at an instant."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pitlake.cli import render
from pitlake.cli.options import format_option, output_option
from pitlake.cli.sessions import opened, session_options
from pitlake.clock import iso

if TYPE_CHECKING:
    from pitlake.session import Viewpoint

CHOSEN = "FROM gaps WHERE ($dataset IS NULL OR dataset = $dataset) AND ($id IS NULL OR contains(locator, $id))"
COUNTED = f"SELECT dataset, gap_type, reason, count(*) AS gaps {CHOSEN} GROUP BY ALL ORDER BY ALL"
LISTED = f"SELECT dataset, gap_type, reason, locator, available_at {CHOSEN} ORDER BY ALL"


@click.command("gaps")
@session_options
@click.option("--dataset", metavar="NAME", help="Limit to this dataset [default: all].")
@click.option("--id", "record_id", metavar="ID", help="Limit to locators that contain this [default: all].")
@click.option("--each", is_flag=True, help="List each gap with its locator [default: count by reason].")
@format_option(("table", "json", "csv", "parquet"))
@output_option
def command(
    dataset: str | None, record_id: str | None, each: bool, form: str, output: Path | None, viewpoint: "Viewpoint"
) -> None:
    """Count the records that could not become rows, by reason.

    `pitlake describe DATASET` says which gaps a dataset can have.
    """
    if dataset is not None:
        dataset = viewpoint.open_lake().contract(dataset).name
    render.check_target(form, output)
    with opened(viewpoint) as session:
        gaps = session.sql(LISTED if each else COUNTED, {"dataset": dataset, "id": record_id}).arrow()
    render.write(gaps, form, output)
    if not gaps.num_rows:
        of = (f" of {dataset}" if dataset else "") + (f" with {record_id!r} in its locator" if record_id else "")
        if viewpoint.as_of is None:
            render.say(f"there are no gaps{of}")
        else:
            render.say(f"no gap{of} has a date up to {iso(viewpoint.as_of)}; --open also shows gaps without a date")
