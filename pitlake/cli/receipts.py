"""`pitlake receipts`: the receipts a lake keeps, and letting go of one."""

from pathlib import Path

import click

from pitlake.cli import render
from pitlake.cli.options import format_option, lake_option, output_option


@click.command("receipts")
@lake_option
@click.option("--forget", metavar="RECEIPT", help="Keep this one no longer; its version may then be vacuumed.")
@format_option(("table", "json"))
@output_option
def command(lake: str | None, forget: str | None, form: str, output: Path | None) -> None:
    """List the receipts that are kept."""
    from pitlake import receipts
    from pitlake.lake.lake import Lake

    render.check_target(form, output)
    Lake(lake).head()
    if forget is not None:
        render.say(f"forgot {receipts.forget(forget, lake)}")
        return
    found = receipts.kept(lake)
    if form == "json":
        listed = [{"id": name, **receipt.to_dict()} for name, receipt in found.items()]
        render.deliver(render.to_json(listed), output)
        return
    rows = [
        (
            name,
            receipt.as_of or "open mode",
            str(receipt.version),
            str(receipt.rows),
            " ".join(receipt.question.sql.split()),
        )
        for name, receipt in found.items()
    ]
    render.deliver(render.grid(("receipt", "as of", "version", "rows", "asked"), rows), output)
