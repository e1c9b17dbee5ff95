"""`pitlake diff --from T1 --to T2`: what became public in between, by dataset."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from pitlake.cli import render
from pitlake.cli.options import (
    format_option,
    hindsight_option,
    instant_option,
    isolation_option,
    lake_option,
    output_option,
)
from pitlake.cli.sessions import opened
from pitlake.clock import instant
from pitlake.errors import BadInput


@click.command("diff")
@instant_option("--from", "since", "Count what became public after this time")
@instant_option("--to", "as_of", "Count what became public up to and including this time")
@click.option(
    "--ticker",
    metavar="TICKER",
    help="Limit to one company; gaps don't name a company and are then left out [default: all].",
)
@lake_option
@hindsight_option
@isolation_option
@format_option(("table", "json", "csv", "parquet"))
@output_option
def command(
    since: str,
    as_of: str,
    ticker: str | None,
    lake: str | None,
    hindsight: Any,
    isolation: Any,
    form: str,
    output: Path | None,
) -> None:
    """Count what became public between two instants.

    For each dataset: new rows, revisions, gaps. With --hindsight omit, a ticker is resolved by what was public at --to.
    """
    import pyarrow as pa

    from pitlake.answers.contents import SCHEMA, changes
    from pitlake.questions.parameters import spell
    from pitlake.session.viewpoint import SHOW, Viewpoint

    render.check_target(form, output)
    viewpoint = Viewpoint(as_of=None, lake=lake, hindsight=hindsight, isolation=isolation).at(as_of, "--to")
    first = instant(since, "--from")
    if viewpoint.as_of is None or first >= viewpoint.as_of:
        raise BadInput("--from", "is not before --to", "name the earlier instant first")
    symbol = None if ticker is None else spell("ticker", "--ticker", ticker)
    company = None
    if symbol is not None:
        with opened(viewpoint) as session:
            company = session.company(symbol)
    # Counting needs keys and tickers, which a session without hindsight leaves out. The counts reveal neither.
    with opened(replace(viewpoint, hindsight=SHOW)) as session:
        counts = changes(session, first, company.company if company else None)
        notes = company.notes_on(labels=True) if company else ()
    render.write(pa.Table.from_pylist([count.plain() for count in counts], schema=SCHEMA), form, output)
    for note in notes:
        render.say(note)
    render.say(f"public after {since} and by {as_of}, {render.count(len(counts), 'dataset')}")
