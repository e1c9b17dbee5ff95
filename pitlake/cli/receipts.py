"""`pitlake receipts`: the receipts a lake keeps, and letting go of one."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pitlake.cli import render
from pitlake.cli.options import format_option, lake_option, output_option

if TYPE_CHECKING:
    from pitlake.session import Receipt


@click.command("receipts")
@lake_option
@click.option("--forget", metavar="RECEIPT", help="Keep this one no longer; its version may then be vacuumed.")
@format_option(("table", "json"))
@output_option
def command(lake: str | None, forget: str | None, form: str, output: Path | None) -> None:
    """List the receipts that are kept; a damaged one is named after the others."""
    from pitlake import receipts
    from pitlake.lake.lake import Lake

    render.check_target(form, output)
    Lake(lake).head()
    if forget is not None:
        render.say(f"forgot {receipts.forget(forget, lake)}")
        return
    found, damaged = receipts.survey(lake)
    render.deliver(_json(found) if form == "json" else _people(found), output)
    for error in damaged[1:]:
        render.say(str(error))
    if damaged:
        raise damaged[0]


def _json(found: dict[str, "Receipt"]) -> bytes:
    return render.to_json([{"id": name, **receipt.to_dict()} for name, receipt in found.items()])


def _people(found: dict[str, "Receipt"]) -> bytes:
    rows = [
        (
            name,
            receipt.as_of or "open mode",
            receipt.known_by or "",
            str(receipt.version),
            str(receipt.rows),
            " ".join(receipt.question.sql.split()),
        )
        for name, receipt in found.items()
    ]
    return render.grid(("receipt", "as of", "known by", "version", "rows", "asked"), rows)
