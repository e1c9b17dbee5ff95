"""The output of commands: shared options, rows in the chosen format, and an optional receipt.

`render` formats rows; pitlake.answers.page makes envelopes.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pitlake.cli import render
from pitlake.cli.options import Decorated, format_option, model_options, output_option
from pitlake.cli.sessions import working
from pitlake.clock import iso

if TYPE_CHECKING:
    from pitlake.questions.catalogue import Query
    from pitlake.session import Session

FORMS = ("table", "json", "csv", "parquet", "envelope")

receipt_option = click.option(
    "--receipt", is_flag=True, help="Store the receipt in the lake, so that `pitlake replay` can repeat the answer."
)


def answer_options(command: Decorated) -> Decorated:
    """Add the output options of commands that answer with rows."""
    for option in (receipt_option, model_options, output_option, format_option(FORMS)):
        command = option(command)
    return command


def deliver_answer(
    session: "Session",
    question: "str | Query",
    params: dict[str, Any] | None,
    form: str,
    output: Path | None,
    *,
    receipt: bool,
) -> int:
    """Run SQL or a catalogue query, write the rows and the instant, and return the number of rows.

    receipt: whether to store the receipt in the lake.
    """
    from pitlake.answers.page import text
    from pitlake.answers.provenance import Provenance

    with working("asking"):
        result = session.ask(question, params)
    if form == "envelope":
        query = None if isinstance(question, str) else question
        render.deliver(text(result.arrow(), Provenance.of(session, result, query), session.as_of), output)
    else:
        render.write(result.arrow(), form, output)
    render.say(f"{door(session)}, {render.count(len(result), 'row')}")
    model = session.viewpoint.model
    for note in (*result.notes, *([": ".join(model.judge(session.as_of))] if model else [])):
        render.say(note)
    for dataset, columns in result.hindsight.items():
        render.say(f"known only with hindsight: {', '.join(columns)} of {dataset}")
    if receipt:
        render.say(f"receipt {result.keep()}")
    return len(result)


def door(session: "Session") -> str:
    """Return how a session was opened, in words.

    The text omits the version, because version numbers count commits after T; the receipt has it.
    """
    as_of = f"as of {iso(session.as_of)}" if session.as_of else "open mode"
    return f"{as_of}, known by {iso(session.known_by)}" if session.known_by else as_of
