"""`pitlake study report NAME`: the trials of a study, and how much of the best result they explain."""

from pathlib import Path
from typing import Any

import click

from pitlake.cli import render
from pitlake.cli.options import format_option, lake_option, output_option


@click.group("study")
def command() -> None:
    """Report on studies, which count their trials."""


@command.command("report")
@click.argument("name")
@lake_option
@format_option(("table", "json"))
@output_option
def report(name: str, lake: str | None, form: str, output: Path | None) -> None:
    """Show the trials of a study and its deflated Sharpe ratio."""
    from pitlake.studies.holdouts import report

    render.check_target(form, output)
    facts = report(name, lake).to_dict()
    if form == "json":
        render.deliver(render.to_json(facts), output)
        return
    events = facts.pop("ledger")
    summary = [(key.replace("_", " "), _shown(value)) for key, value in facts.items() if value not in (None, "")]
    rows = [
        (
            event["at"],
            event["kind"],
            ", ".join(f"{key}={_shown(value)}" for key, value in event.items() if key not in ("at", "kind")),
        )
        for event in events
    ]
    tables = [render.grid(("figure", "value"), summary), b"\n", render.grid(("at", "what", "details"), rows)]
    render.deliver(b"".join(tables), output)


def _shown(value: Any) -> str:
    """Return a figure or fact for people: the first and the last instant of the holdout, and four digits of a ratio."""
    if isinstance(value, list):
        return " to ".join(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
