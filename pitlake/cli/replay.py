"""`pitlake replay RECEIPT`: repeats a question and checks the answer, or names what is missing."""

from pathlib import Path
from typing import Any

import click

from pitlake.cli import render
from pitlake.cli.options import format_option, isolation_option, lake_option, output_option
from pitlake.cli.sessions import working


@click.command("replay")
@click.argument("receipt")
@lake_option
@isolation_option
@format_option(("table", "json", "csv", "parquet"))
@output_option
def command(receipt: str, lake: str | None, isolation: Any, form: str, output: Path | None) -> None:
    """Repeat a receipt's question and compare the answers.

    RECEIPT is the id of a stored receipt or the start of an id, the sha256 of its answer, or a receipt file.
    """
    from pitlake.answers import receipts
    from pitlake.lake.lake import Lake

    render.check_target(form, output)
    Lake(lake).head()
    found_receipt = receipts.find(receipt, lake)
    with working("asking again"):
        result = receipts.replay(found_receipt, lake, isolation=isolation)
    render.write(result.arrow(), form, output)
    render.say(f"the same answer: {render.count(len(result), 'row')}, sha256 {found_receipt.result_sha256}")
