"""`pitlake describe DATASET`: one dataset's page of the data dictionary. Reads the contract alone, no lake."""

import click

from pitlake import datasets as catalogue
from pitlake.cli import render
from pitlake.cli.options import format_option
from pitlake.dictionary import facts, page


@click.command("describe")
@click.argument("dataset")
@format_option(("text", "json"))
def command(dataset: str, form: str) -> None:
    """Say what a dataset holds: its clock, key, columns and gaps."""
    contract = catalogue.get(dataset)
    render.deliver(render.to_json(facts(contract)) if form == "json" else page(contract).encode(), None)
