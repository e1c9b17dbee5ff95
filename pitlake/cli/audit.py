"""`pitlake audit TABLE`: how much of the future does the table hold?"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pitlake.cli import FAILED, render
from pitlake.cli.mount import FLAGS as TABLE_FLAGS
from pitlake.cli.options import flag, format_option, output_option
from pitlake.cli.sessions import working
from pitlake.errors import BadInput

if TYPE_CHECKING:
    from pitlake.audit import AuditReport

OPTIONS = {"known": "available_at", "period": "valid_at", "row_date": "date", "entity": "key", "loaded": "loaded_at"}
"""The option that names the column of each meaning."""
WORDS = {
    "known": "known since",
    "period": "period",
    "row_date": "date of the row",
    "entity": "company",
    "loaded": "loaded",
    "close": "price",
    "adjusted": "adjusted price",
    "concept": "figure",
    "accepted": "accepted",
    "filed": "filed",
    "announced": "announced",
    "estimate": "estimate",
}


@click.command("audit")
@click.argument("place", metavar="TABLE")
@click.option("--table", metavar="NAME", help="Table of the DuckDB file or Postgres database.")
@click.option("--available-at", "known", metavar="COLUMN", help="Column with the time a row became known.")
@click.option("--valid-at", "period", metavar="COLUMN", help="Column with the end of the period that a row is about.")
@click.option("--date", "row_date", metavar="COLUMN", help="Column with the day on which a row is used.")
@click.option("--key", "entity", metavar="COLUMN", help="Column with the ticker or company.")
@click.option("--loaded-at", "loaded", metavar="COLUMN", help="Column with the time a row was stored.")
@click.option(
    "--timezone",
    metavar="ZONE",
    default="America/New_York",
    show_default=True,
    help="Zone of timestamps without one.",
)
@click.option("--badge", type=click.Path(path_type=Path, dir_okay=False), help="An SVG file to write the result to.")
@format_option(("table", "json"))
@output_option
@click.pass_context
def command(
    context: click.Context, /, place: str, table: str | None, form: str, output: Path | None, badge: Path | None,
    **columns: str,
) -> None:  # fmt: skip
    """Find hindsight in your own table, without a lake.

    TABLE is what `pitlake mount` takes. The meaning of its columns is guessed from their names; options correct a
    guess. Exits with code 1 if something is found. An audit that finds nothing is not a proof.

    \b
    pitlake audit fundamentals.csv
    """
    from pitlake.audit import audit

    render.check_target(form, output)
    try:
        with working("reading"):
            report = audit(place if table is None else (place, table), **columns)
    except BadInput as error:
        name = OPTIONS.get(error.field) or TABLE_FLAGS.get(error.field, error.field)
        field = flag(name) if error.field in (*OPTIONS, "timezone", "table") else error.field
        raise BadInput(field, error.problem, error.next_step) from None
    content = render.to_json(report.to_dict()) if form == "json" else _page(report)
    render.deliver(content, output)
    if badge is not None:
        render.deliver(report.badge().encode(), badge)
    if report.findings:
        context.exit(FAILED)


def _page(report: "AuditReport") -> bytes:
    from pitlake.audit.rules import RULES

    roles = ", ".join(f"{WORDS.get(role, role)} = {name}" for role, name in report.roles.items())
    parts = [f"{report}\n\ncolumns  {roles}\n".encode()]
    for number, finding in enumerate(report.findings, 1):
        share = f"{finding.count:,} of {render.count(finding.of, 'row')}"
        head = f"\n{number}. {finding.title}: {share}\n   {finding.meaning}\n   → {finding.next_step}\n\n"
        parts += [head.encode(), render.grid(finding.columns, finding.worst)]
    parts.append(b"\n")
    parts += [f"clean        {RULES[rule][0]}\n".encode() for rule in report.clean]
    parts += [
        f"not checked  {RULES[rule][0]}: {render.printable(reason)}\n".encode()
        for rule, reason in report.skipped.items()
    ]
    return b"".join(parts)
