"""`pitlake panel`: figures known about companies at many instants, one row per company and instant."""

from pathlib import Path
from typing import Any

import click

from pitlake.cli import render
from pitlake.cli.options import (
    flag,
    hindsight_option,
    isolation_option,
    known_by_option,
    lake_option,
    output_option,
    version_option,
)
from pitlake.cli.sessions import working
from pitlake.errors import BadInput

FORMS = {".parquet": "parquet", ".csv": "csv", ".json": "json"}


@click.command("panel")
@click.option("--tickers", metavar="A,B", help="Tickers that the companies had then or have today.")
@click.option(
    "--universe",
    metavar="TABLE",
    help="In place of --tickers: a table mounted with --until. Each instant has the members known at that time.",
)
@click.option(
    "--fields",
    metavar="A,B",
    required=True,
    help=(
        "Line items, such as revenue_ttm: a name alone (newest quarter or balance) or with _quarter, _year or _ttm "
        "appended. Also open, high, low, close, volume, split_index, price_date, price_source, gross_margin, "
        "operating_margin, net_margin, roe, fcf_yield, pe, and columns of your own tables, such as my_scores.score."
    ),
)
@click.option(
    "--every",
    metavar="PERIOD",
    default="month",
    show_default=True,
    help="One row per company and day, week, month, quarter or year, as of its end in New York.",
)
@click.option("--since", metavar="DAY", required=True, help="First year, month or day, such as 2015.")
@click.option("--as-of", "until", metavar="T", help="Latest instant of a row [default: now].")
@click.option(
    "--proof", is_flag=True, help="Add to each line item the end of its period, when it became public and its filings."
)
@lake_option
@version_option
@known_by_option
@hindsight_option
@isolation_option
@click.option(
    "--format",
    "form",
    type=click.Choice(("table", *FORMS.values())),
    help="Output format [default: by the file's name].",
)
@output_option
def command(
    tickers: str | None,
    fields: str,
    every: str,
    since: str,
    until: str | None,
    proof: bool,
    form: str | None,
    output: Path | None,
    **options: Any,
) -> None:
    """Write a table of companies' figures at many instants.

    Each value is as it was known at the row's own instant; a later restatement never changes an earlier row.

    \b
    pitlake panel --tickers AAPL,NVDA --since 2015 --fields revenue_ttm,eps_diluted,close -o panel.parquet
    """
    from pitlake.answers.panel import PanelQuestion, ask_panel
    from pitlake.session.viewpoint import Viewpoint

    if not form:
        if output is not None and output.suffix not in FORMS:
            raise BadInput("--output", f"{output.name!r} does not imply a format", f"end it in {' or '.join(FORMS)}")
        form = "table" if output is None else FORMS[output.suffix]
    render.check_target(form, output)
    question = PanelQuestion.parse(
        tickers,
        fields,
        universe=options.pop("universe"),
        every=every,
        since=since,
        until=until,
        proof=proof,
        field=lambda name: _FLAGS.get(name, flag(name)),
    )
    viewpoint = Viewpoint.parse(question.instants[-1], **options, field=flag)
    with working("asking") as progress:
        panel = ask_panel(question, viewpoint, progress)
    render.write(panel.arrow(), form, output)
    table = panel.arrow()
    values = sum(len(table) - table[name].null_count for name in question.fields)
    cells = len(panel) * len(question.fields)
    render.say(f"{render.count(len(panel), 'row')}, {values:,} of {render.count(cells, 'value')} public")
    for note in panel.notes:
        render.say(note)


_FLAGS = {"until": "--as-of"}
