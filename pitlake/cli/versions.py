"""`pitlake versions`: the lake's versions, newest first, and the counts of each commit. Only the lake's log is read."""

from itertools import islice

import click

from pitlake.cli import render
from pitlake.cli.options import format_option, lake_option
from pitlake.clock import iso


@click.command("versions")
@lake_option
@click.option(
    "--limit", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="List at most this many."
)
@format_option(("table", "json"))
def command(lake: str | None, limit: int, form: str) -> None:
    """List the lake's versions, newest first."""
    from pitlake.lake.lake import Lake

    entries = list(islice(Lake(lake).versions(), limit))
    if form == "json":
        facts = [
            {
                "version": entry.version,
                "committed_at": entry.committed_at,
                "operation": entry.operation,
                "dataset": entry.dataset,
                "run_id": entry.run_id,
                "counts": dict(entry.counts),
                "reason": entry.reason,
            }
            for entry in entries
        ]
        render.deliver(render.to_json(facts), None)
        return
    rows = [
        (
            str(entry.version),
            iso(entry.committed_at),
            entry.operation,
            entry.dataset,
            ", ".join(f"{count} {name}" for name, count in entry.counts.items()),
            entry.run_id,
            entry.reason,
        )
        for entry in entries
    ]
    render.deliver(render.grid(("version", "committed", "operation", "dataset", "counts", "run", "reason"), rows), None)
