"""`pitlake datasets`: what there is to ask about. Reads the contracts alone, no lake."""

import click

from pitlake import datasets as catalogue
from pitlake.cli import render
from pitlake.cli.options import format_option
from pitlake.dictionary import facts, shown


@click.command("datasets")
@format_option(("table", "json"))
def command(form: str) -> None:
    """List the datasets there are to ask about."""
    every = catalogue.all_datasets().values()
    if form == "json":
        render.deliver(render.to_json([facts(dataset) for dataset in every]), None)
        return
    rows = [(dataset.name, dataset.title, ", ".join(dataset.key), shown(dataset)) for dataset in every]
    render.deliver(render.grid(("dataset", "what", "one row per", "shown"), rows), None)
