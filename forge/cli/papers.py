"""The exports: `pitlake forge export | ticket | bundle | verify`."""

from pathlib import Path

import click

from forge.cli.desk import lake_option, market_of
from forge.cli.memories import own_desk, run_option


@click.command()
@click.argument("table", type=click.Choice(["fills", "positions", "outcomes", "decisions"]), required=False)
@click.option(
    "--excel",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write all four tables to this Excel file instead.",
)
@lake_option
def export(table: str | None, excel: Path | None, lake: str | None) -> None:
    """Print fills, positions, outcomes or your decisions as CSV."""
    from forge.desk import papers
    from pitlake.errors import BadInput

    if (table is None) == (excel is None):
        raise BadInput("TABLE", "missing, or given together with --excel", "give a table, or --excel FILE for all")
    memory = own_desk().memory()
    remembered, market = memory.hydrate_now(), market_of(lake, memory)
    if excel:
        papers.workbook(remembered, market, excel)
    elif table:
        click.echo(papers.table(remembered, table, market), nl=False)


@click.command()
@click.argument("name", metavar="ID")
@lake_option
def ticket(name: str, lake: str | None) -> None:
    """Print the order of an approved Expression as CSV.

    The quantity is in whole shares, for its notional at the last close. `fills import --ticket` compares the broker's
    fills with it.
    """
    from forge.desk import papers

    memory = own_desk().memory()
    click.echo(papers.ticket(memory.hydrate_now(), name, market_of(lake, memory)), nl=False)


@click.command()
@click.argument("decision")
@run_option
def bundle(decision: str) -> None:
    """Print a decision for compliance, as JSON.

    It has the question, the receipt, and every text of the records, reviews, approvals, fills and outcomes that follow
    from it.
    """
    from forge.desk import papers

    own = own_desk()
    click.echo(papers.bundle(own, own.memory(own.clock_of(decision)), decision), nl=False)


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def verify(file: Path) -> None:
    """Verify a decision's bundle, without lake or memory.

    The exit code is 1 if a text was changed, or a trade was active without a review and an approval of its text.
    """
    from forge.desk import papers
    from pitlake.cli.sessions import typed

    lines, faults = papers.verify(typed(lambda: file.read_text(encoding="utf-8"), "FILE"))
    click.echo("\n".join([*lines, *(f"FAULT: {fault}" for fault in faults)]))
    if faults:
        raise click.exceptions.Exit(1)


COMMANDS = (export, ticket, bundle, verify)
