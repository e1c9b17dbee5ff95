"""`pitlake audit TABLE`: which rows of the table contain hindsight?"""

from pathlib import Path

import click

from pitlake.cli import FAILED, render
from pitlake.cli.options import flag, format_option, output_option
from pitlake.cli.sessions import working
from pitlake.errors import BadInput

OPTIONS = ("available_at", "valid_at", "date", "key", "loaded_at", "timezone", "table")
WORDS = {
    "available_at": "known since",
    "valid_at": "period",
    "date": "date of the row",
    "key": "company",
    "loaded_at": "loaded",
    "close": "price",
    "adjusted": "adjusted price",
    "concept": "figure",
    "accepted_at": "accepted",
    "filing_date": "filed",
    "announced_at": "announced",
    "estimate": "estimate",
}


@click.command("audit")
@click.argument("place", metavar="TABLE")
@click.option("--table", metavar="NAME", help="Table of the DuckDB file or Postgres database.")
@click.option("--available-at", metavar="COLUMN", help="Column with the time a row became known.")
@click.option("--valid-at", "valid_at", metavar="COLUMN", help="Column with the end of the period that a row is about.")
@click.option("--date", "date", metavar="COLUMN", help="Column with the day on which a row is used.")
@click.option("--key", "key", metavar="COLUMN", help="Column with the ticker or company.")
@click.option("--loaded-at", "loaded_at", metavar="COLUMN", help="Column with the time a row was stored.")
@click.option(
    "--timezone", metavar="ZONE", default="America/New_York", show_default=True, help="Zone of timestamps without one."
)
@click.option(
    "--lake",
    metavar="ROOT",
    help="Folder or URL of a lake, whose facts also find restated values and later tickers [default: none].",
)
@click.option("--badge", type=click.Path(path_type=Path, dir_okay=False), help="An SVG file to write the result to.")
@format_option(("table", "json"))
@output_option
@click.pass_context
def command(
    context: click.Context, /, place: str, table: str | None, form: str, output: Path | None, badge: Path | None,
    lake: str | None, **columns: str,
) -> None:  # fmt: skip
    """Find hindsight in your own table, with or without a lake.

    TABLE is anything that `pitlake mount` takes. The meaning of its columns is guessed from their names; options
    correct a guess. Exits with code 1 if something is found. An audit that finds nothing is not a proof.

    \b
    pitlake audit fundamentals.csv
    """
    from pitlake.audit import audit
    from pitlake.audit.report import TITLES

    for target in (output, badge):
        render.check_target(form, target)
    try:
        with working("reading"):
            report = audit(place if table is None else (place, table), lake=lake, **columns)
    except BadInput as error:
        field = flag(error.field) if error.field in OPTIONS else error.field
        raise BadInput(field, error.problem, error.next_step) from None
    if form == "json":
        content = render.to_json(report.to_dict())
    else:
        roles = ", ".join(f"{WORDS.get(role, role)} = {name}" for role, name in report.roles.items())
        parts = [_lines(str(report), "", f"columns  {roles}")]
        for number, finding in enumerate(report.findings, 1):
            share = f"{finding.count:,} of {render.count(finding.of, 'row')}"
            head = (f"{number}. {finding.title}: {share}", f"   {finding.meaning}", f"   → {finding.next_step}")
            parts += [_lines("", *head, ""), render.grid(finding.columns, finding.worst)]
        clean = (f"clean        {TITLES[rule]}" for rule in report.clean)
        skipped = (f"not checked  {TITLES[rule]}: {reason}" for rule, reason in report.skipped.items())
        content = b"".join((*parts, _lines("", *clean, *skipped)))
    render.deliver(content, output)
    if badge is not None:
        render.deliver(report.badge().encode(), badge)
    if report.findings:
        context.exit(FAILED)


def _lines(*lines: str) -> bytes:
    return "".join(f"{render.printable(line)}\n" for line in lines).encode()
