"""`pitlake retract`: create a new version of the lake without the rows of one run."""

import click

from pitlake.cli import render
from pitlake.cli.options import format_option, lake_option
from pitlake.cli.sessions import working


@click.command("retract")
@lake_option
@click.option("--run", "run_id", required=True, metavar="ID", help="The run; `pitlake versions` lists the runs.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; the lake's history shows it.")
@click.option(
    "--repeats",
    type=click.Choice(("withdraw", "keep")),
    help="Withdraw the same rows from later mounts of the table too, or keep them there.",
)
@click.option("--dry-run", is_flag=True, help="Only list what the run published.")
@format_option(("table", "json"))
def command(lake: str | None, run_id: str, reason: str, repeats: str | None, dry_run: bool, form: str) -> None:
    """Create a new version without the rows of a run, which was wrong.

    The new version shows no rows of the run at any instant. Later runs count as if the run had never happened: rows
    that they found unchanged stay, dated by them. Its polls and captures no longer count. Older versions and their
    receipts stay as they are.
    """
    from pitlake.lake.lake import Lake

    opened_lake = Lake(lake)
    opened_lake.head()
    with working("retracting"):
        done = opened_lake.retract(run_id, reason, repeats=repeats, dry_run=dry_run)
    if form == "json":
        facts = {"run": run_id, "version": done.version, "rows": done.rows, "gaps": done.gaps}
        render.deliver(render.to_json([facts | {"derived_later": done.derived_later}]), None)
    else:
        rows = [(name, str(count), str(done.gaps[name])) for name, count in done.rows.items()]
        render.deliver(render.grid(("dataset", "rows of the run", "gaps of the run"), rows), None)
    render.say("nothing was retracted" if done.version is None else f"retracted in version {done.version}")
    for name, run in done.derived_later:
        render.say(f"{name}: run {run} may have read these rows; retract it too, then derive {name} again")
