"""`pitlake describe DATASET`: the data dictionary's page of a dataset, and the dataset's contents in a lake.

Without an instant, the command reads no rows.
"""

from typing import TYPE_CHECKING

import click

from pitlake.cli import render
from pitlake.cli.options import format_option
from pitlake.cli.sessions import opened, optional_session_options
from pitlake.clock import iso
from pitlake.questions.catalogue import unions
from pitlake.questions.dictionary import facts, page, union_facts, union_page

if TYPE_CHECKING:
    from pitlake.session import Viewpoint


@click.command("describe")
@click.argument("dataset")
@optional_session_options
@format_option(("text", "json"))
def command(dataset: str, viewpoint: "Viewpoint | None", lake: str | None, form: str) -> None:
    """Describe a dataset or union: its clock, key, columns and gaps.

    With --as-of or --open, also show its contents in the lake.
    """
    from pitlake.lake.lake import Lake

    described = Lake(lake)
    if (union := unions().get(dataset)) and dataset not in described.contracts():
        as_json = form == "json"
        render.deliver(render.to_json(union_facts(union)) if as_json else union_page(union).encode(), None)
        return
    contract = described.contract(dataset)
    description, text = facts(contract), page(contract)
    if rule := described.counts_from(contract):
        description["counts_from"] = rule
        text += f"\n## Setting\n\nIn this lake, rows become available at: {rule}.\n"
    if viewpoint is not None:
        from pitlake.answers.contents import holdings

        with opened(viewpoint, [contract.name]) as session:
            (holding,) = holdings(session)
        description["holds"] = holding.plain()
        span = (
            f", public from {iso(holding.first)} to {iso(holding.newest)}" if holding.first and holding.newest else ""
        )
        text += f"\n## In this lake\n\n{holding.rows:,} rows{span}; {holding.gaps:,} gaps.\n"
    render.deliver(render.to_json(description) if form == "json" else text.encode(), None)
