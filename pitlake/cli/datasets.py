"""`pitlake datasets`: the datasets and their contents in a lake. Without an instant, the command reads no rows."""

from typing import TYPE_CHECKING

import click

from pitlake.cli import render
from pitlake.cli.options import format_option
from pitlake.cli.sessions import opened, optional_session_options
from pitlake.clock import iso
from pitlake.errors import LakeNotFound
from pitlake.questions.catalogue import unions
from pitlake.questions.dictionary import facts, shown

FIRST_LAKE = "`pitlake demo` shows one, `pitlake mount TABLE` reads your table, `pitlake sync` fetches real companies"

if TYPE_CHECKING:
    from pitlake.session import Viewpoint


@click.command("datasets")
@optional_session_options
@format_option(("table", "json"))
def command(viewpoint: "Viewpoint | None", lake: str | None, form: str) -> None:
    """List the datasets. With --as-of or --open, also show each dataset's contents in the lake."""
    if viewpoint is None:
        from pitlake.lake.lake import Lake

        all_datasets = Lake(lake).contracts().values()
        if form == "json":
            render.deliver(render.to_json([facts(dataset) for dataset in all_datasets]), None)
        else:
            lines = [(dataset.name, dataset.title, ", ".join(dataset.key), shown(dataset)) for dataset in all_datasets]
            render.deliver(render.grid(("dataset", "what", "one row per", "shown"), lines), None)
            _say_unions()
            render.say("add --as-of T or --open to see each dataset's contents")
        try:
            Lake(lake).snapshot()
        except LakeNotFound:
            render.say("there is no lake here yet: " + FIRST_LAKE)
        return
    from pitlake.answers.contents import holdings

    with opened(viewpoint) as session:
        datasets, contracts = holdings(session), session.contracts
    if form == "json":
        entries = [facts(contracts[holding.dataset]) | {"holds": holding.plain()} for holding in datasets]
        render.deliver(render.to_json(entries), None)
        return
    rows = [
        (
            holding.dataset,
            f"{holding.rows:,}",
            iso(holding.first) if holding.first else "",
            iso(holding.newest) if holding.newest else "",
            f"{holding.gaps:,}",
            contracts[holding.dataset].title,
        )
        for holding in datasets
    ]
    render.deliver(render.grid(("dataset", "rows", "from", "newest", "gaps", "what"), rows), None)
    _say_unions()


def _say_unions() -> None:
    """Name the views in SQL over several of these datasets."""
    views = ", ".join(f"{union.name} ({', '.join(union.reads)})" for union in unions().values())
    render.say(f"in SQL, these read several datasets, with `source` in each row: {views}")
