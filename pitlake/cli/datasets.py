"""`pitlake datasets`: the datasets and what a lake holds of each. Without an instant no lake is read."""

from typing import TYPE_CHECKING

import click

from pitlake import datasets as catalogue
from pitlake.cli import render
from pitlake.cli.options import format_option
from pitlake.cli.sessions import opened, optional_session_options
from pitlake.clock import iso
from pitlake.dictionary import facts, shown

if TYPE_CHECKING:
    from pitlake.session import Viewpoint


@click.command("datasets")
@optional_session_options
@format_option(("table", "json"))
def command(viewpoint: "Viewpoint | None", form: str) -> None:
    """List the datasets. With --as-of or --open, show also what the lake holds of each."""
    if viewpoint is None:
        _contracts(form)
        return
    from pitlake.answers.contents import holdings

    with opened(viewpoint) as session:
        found = holdings(session)
    if form == "json":
        listed = [facts(catalogue.get(one.dataset)) | {"holds": one.plain()} for one in found]
        render.deliver(render.to_json(listed), None)
        return
    rows = [
        (
            one.dataset,
            f"{one.rows:,}",
            iso(one.first) if one.first else "",
            iso(one.newest) if one.newest else "",
            f"{one.gaps:,}",
            catalogue.get(one.dataset).title,
        )
        for one in found
    ]
    render.deliver(render.grid(("dataset", "rows", "from", "newest", "gaps", "what"), rows), None)


def _contracts(form: str) -> None:
    every = catalogue.all_datasets().values()
    if form == "json":
        render.deliver(render.to_json([facts(dataset) for dataset in every]), None)
        return
    rows = [(dataset.name, dataset.title, ", ".join(dataset.key), shown(dataset)) for dataset in every]
    render.deliver(render.grid(("dataset", "what", "one row per", "shown"), rows), None)
    render.say("add --as-of T or --open to see what the lake holds of each")
