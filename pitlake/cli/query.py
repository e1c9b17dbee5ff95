"""`pitlake query`: runs one SQL statement in a session as of an instant and writes its rows to stdout or a file.

The session decides what SQL may see, and `answering` formats rows.
"""

import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pitlake.cli import render
from pitlake.cli.answering import answer_options, deliver_answer
from pitlake.cli.sessions import opened, session_options, typed
from pitlake.errors import BadInput, QueryFailed

if TYPE_CHECKING:
    from pitlake.session import Viewpoint


@click.command("query")
@click.argument("sql")
@session_options
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    metavar="NAME",
    help="Open only this dataset, which is quicker; can be repeated [default: all].",
)
@answer_options
def command(
    sql: str, viewpoint: "Viewpoint", datasets: tuple[str, ...], form: str, output: Path | None, receipt: bool
) -> None:
    """Run SQL over what was public at an instant. If SQL is "-", read it from stdin.

    Each dataset is a view of its newest revisions; <dataset>_revisions has every revision, gaps the records that could
    not become rows, and lake_info the contents of the session.

    \b
    pitlake query --as-of 2024-02-15T16:00:00-05:00 "SELECT count(*) FROM news"
    """
    from pitlake.session.arguments import LONGEST_QUERY, query_text
    from pitlake.session.sql.reading import datasets_named

    text = query_text(typed(partial(sys.stdin.read, LONGEST_QUERY + 1)) if sql == "-" else sql)
    if not text.strip():
        raise BadInput("SQL", "empty", "write a statement, such as SELECT * FROM lake_info")
    render.check_target(form, output)
    # Receipts and envelopes name every dataset that the session was bound to.
    if not datasets and not receipt and form != "envelope" and (named_datasets := datasets_named(text)):
        with suppress(QueryFailed, BadInput), opened(viewpoint, named_datasets) as session:
            deliver_answer(session, text, None, form, output, receipt=receipt)
            return
    with opened(viewpoint, datasets) as session:
        deliver_answer(session, text, None, form, output, receipt=receipt)
