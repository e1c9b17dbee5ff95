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
    """Show the trials of a study and its holdout."""
    from pitlake.studies.holdouts import report

    render.check_target(form, output)
    facts = report(name, lake).to_dict()
    if form == "json":
        render.deliver(render.to_json(facts), output)
        return
    idea = facts.pop("sealed_idea") or {}
    compared = [{"": part.replace("_", " ")} | idea[part] for part in ("in_sample", "holdout") if idea.get(part)]
    tables = {
        "trials": facts.pop("trials"),
        "comparisons": facts.pop("comparisons"),
        "the sealed idea": compared,
        "other studies": facts.pop("other_studies"),
        "ledger": [
            {
                "at": event.pop("at"),
                "what": event.pop("kind"),
                "details": ", ".join(f"{key}={_shown(value)}" for key, value in event.items()),
            }
            for event in facts.pop("ledger")
        ],
    }
    summary = [(key.replace("_", " "), _shown(value)) for key, value in facts.items() if value is not None]
    parts = [render.grid(("figure", "value"), summary)]
    for title, rows in tables.items():
        if rows:
            names = list(dict.fromkeys(key for row in rows for key in row))
            cells = [tuple(_shown(row.get(key)) for key in names) for row in rows]
            heads = tuple(key.replace("_", " ") for key in names)
            parts += [f"\n{title}\n".encode(), render.grid(heads, cells)]
    render.deliver(b"".join(parts), output)


def _shown(value: Any) -> str:
    """Format a figure or fact for people: the first and last instant of the holdout, and ratios with four digits."""
    if value is None:
        return ""
    if isinstance(value, list):
        return " to ".join(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
