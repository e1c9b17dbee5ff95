"""`pitlake receipts`: lists a lake's stored receipts, newest first, and removes one."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pitlake.cli import render
from pitlake.cli.options import format_option, lake_option, output_option
from pitlake.clock import iso

if TYPE_CHECKING:
    from pitlake.session import Receipt

BUILT = "earnings_snapshot"
"""The query whose receipts the platform itself stores, because the dataset earnings_snapshots cites them."""


@click.command("receipts")
@lake_option
@click.option("--forget", metavar="RECEIPT", help="Remove this receipt; a vacuum may then remove the version it needs.")
@click.option(
    "--matching",
    metavar="TEXT",
    help="List only receipts whose id, instant or question contains this text [default: all].",
)
@click.option("--all", "every", is_flag=True, help=f"Also list the receipts that the dataset {BUILT}s cites.")
@format_option(("table", "json"))
@output_option
def command(
    lake: str | None, forget: str | None, matching: str | None, every: bool, form: str, output: Path | None
) -> None:
    """List the stored receipts, newest first, or remove one.

    Damaged receipts are reported after the list, with a non-zero exit code.
    """
    from pitlake.answers import receipts
    from pitlake.lake.lake import Lake

    render.check_target(form, output)
    Lake(lake).head()
    if forget is not None:
        render.say(f"removed {receipts.forget(forget, lake)}")
        return
    sound, damaged = receipts.survey(lake)
    times = {name: at for name, at in receipts.kept_at(lake).items() if name in sound}
    questions = {name: _asked(sound[name]) for name in times}
    built = [name for name in times if not every and questions[name].startswith(f"run {BUILT}")]
    listed_receipts = {}
    for name in times:
        receipt = sound[name]
        texts = (name, receipt.as_of or "open mode", questions[name], receipt.question.sql)
        is_match = matching is None or any(matching.lower() in text.lower() for text in texts)
        if name not in built and is_match:
            listed_receipts[name] = receipt
    if form == "json":
        items = [
            {"id": name, "kept_at": iso(times[name]), **receipt.to_dict()} for name, receipt in listed_receipts.items()
        ]
        render.deliver(render.to_json(items), output)
    else:
        rows = [
            (
                name,
                iso(times[name].replace(microsecond=0)),
                receipt.as_of or "open mode",
                receipt.known_by or "",
                str(receipt.version),
                str(receipt.rows),
                questions[name],
            )
            for name, receipt in listed_receipts.items()
        ]
        head = ("receipt", "kept", "as of", "known by", "version", "rows", "asked")
        render.deliver(render.grid(head, rows), output)
    if built:
        render.say(f"not listed: {len(built)} receipts that the dataset {BUILT}s cites; --all lists them")
    for error in damaged[1:]:
        render.say(str(error))
    if damaged:
        raise damaged[0]


def _asked(receipt: "Receipt") -> str:
    """Return the question in one line: a named query with its parameters, otherwise its SQL."""
    from pitlake.answers import receipts

    question = receipt.question
    if question.query is None:
        return " ".join(question.sql.split())
    values = receipts.values(question.parameters) or {}
    return " ".join(
        ("run", question.query, *(f"{name}={value}" for name, value in values.items() if value is not None))
    )
