"""`pitlake vacuum`: list, or with --apply remove, files that no kept version and no stored receipt needs."""

from datetime import timedelta

import click

from pitlake.cli import render
from pitlake.cli.options import format_option, lake_option


@click.command("vacuum")
@lake_option
@click.option(
    "--keep-days",
    type=click.IntRange(0, 36_500),
    metavar="N",
    default=30,
    show_default=True,
    help="Keep every version of the last N days.",
)
@click.option(
    "--apply",
    is_flag=True,
    help="Remove the files; versions that need them can no longer be read [default: only list them].",
)
@format_option(("table", "json"))
def command(lake: str | None, keep_days: int, apply: bool, form: str) -> None:
    """List or remove files that no kept version or receipt needs."""
    from pitlake.lake.lake import Lake

    done = Lake(lake).vacuum(timedelta(days=keep_days), dry_run=not apply)
    facts = {
        "removed": apply,
        "files": len(done.files),
        "leftovers": len(done.leftovers),
        "bytes": done.bytes,
        "versions": list(done.versions),
    }
    if form == "json":
        render.deliver(render.to_json([facts]), None)
        return
    row = ("yes" if apply else "no, add --apply", str(len(done.files)), str(len(done.leftovers)), str(done.bytes))
    lost = ", ".join(map(str, done.versions)) or "none"
    render.deliver(render.grid(("removed", "files", "leftovers", "bytes", "versions lost"), [(*row, lost)]), None)
