"""`pitlake search`: matching texts, best match first, by words or meaning. `searches` selects the query."""

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from pitlake.cli import render
from pitlake.cli.answering import answer_options, deliver_answer
from pitlake.cli.sessions import opened, session_options
from pitlake.errors import BadInput
from pitlake.questions import searches

if TYPE_CHECKING:
    from pitlake.questions.catalogue import Query
    from pitlake.session import Session, Viewpoint


@click.command("search")
@click.argument("query")
@session_options
@click.option(
    "--in",
    "within",
    metavar=f"[{'|'.join(get_args(searches.Within))}]",
    default="news",
    show_default=True,
    help="Texts to search: one of these, or the name of a dataset.",
)
@click.option("--ticker", metavar="TICKER", help="Limit to one company [default: all].")
@click.option(
    "--by",
    type=click.Choice(get_args(searches.By)),
    default="words",
    show_default=True,
    help="Match words, or meaning by an embedding model: the lake's own, or the one $PITLAKE_EMBEDDER names.",
)
@click.option(
    "--limit",
    type=int,
    metavar="N",
    help="Return at most this many texts, best first [default: 20 by words, 5 by meaning].",
)
@answer_options
def command(  # noqa: PLR0913 - its options
    query: str,
    viewpoint: "Viewpoint",
    within: str,
    ticker: str | None,
    by: str,
    limit: int | None,
    form: str,
    output: Path | None,
    receipt: bool,
) -> None:
    """Search texts that were public at an instant, best match first.

    A text matches if it has any of the words; "phrases" and AND narrow the search.

    \b
    pitlake search '"gross margin" AND guidance' --ticker QBG --as-of 2024-02-15T16:00:00-05:00
    """
    try:
        search_query, values = searches.find(query, within=within, ticker=ticker, by=by, limit=limit)
    except BadInput as wrong:
        raise BadInput("--in" if wrong.field == "within" else wrong.field, wrong.problem, wrong.next_step) from None
    bound = search_query.bind(values)
    render.check_target(form, output)
    with opened(viewpoint, search_query.reads) as session:
        if not deliver_answer(session, search_query, bound, form, output, receipt=receipt):
            render.say(_nothing(session, search_query, ticker, by))


def _nothing(session: "Session", query: "Query", ticker: str | None, by: str) -> str:
    """Print how many texts were searched without a match, and what to try."""
    names = query.reads if by == "words" else query.searches
    # The texts of calls are in the other datasets. `transcripts` is used only to recognise the same call in two
    # sources.
    counted = {
        name: session.sql(f"SELECT count(*) FROM {name}").rows()[0][0] for name in names if name != "transcripts"
    }
    of = f"{sum(counted.values()):,} texts of {' and '.join(counted)}"
    if not any(counted.values()):
        return f"there was nothing to search, {of}; `pitlake datasets --as-of T` lists the contents"
    wider = ["without --ticker"] if ticker else []
    other = ["other words", "--by meaning"] if by == "words" else ["--by words"]
    return f"none of {of} matches{f' for {ticker}' if ticker else ''}; try {', '.join(other + wider)}, or another --in"
