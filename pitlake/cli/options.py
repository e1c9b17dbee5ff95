"""The options commands share: the lake, its version, the instant to ask as of (or open mode, by name), the output.

What is missing or contradictory is refused here, once, with the field and the next step. No command logic lives here.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from pitlake.clock import instant, past
from pitlake.errors import BadInput

Decorated = Callable[..., Any]

lake_option = click.option(
    "--lake", metavar="ROOT", help="Folder or URL of the lake [default: $PITLAKE_LAKE, else ./.pitlake/lake]."
)
version_option = click.option(
    "--version", type=int, metavar="N", help="Answer from this version of the lake [default: the newest]."
)
known_by_option = click.option(
    "--known-by",
    metavar="K",
    help="Use only what the lake had ingested by this time; not together with --version [default: everything].",
)
as_of_option = click.option(
    "--as-of", metavar="T", help="Show only what was public at this time, such as 2024-02-15T16:00:00-05:00."
)
open_option = click.option(
    "--open", "open_mode", is_flag=True, help="Ask without a cut-off, which shows everything, outcomes included."
)
isolation_option = click.option(
    "--isolation",
    type=click.Choice(("process", "in_process")),
    default="process",
    show_default=True,
    help="Where SQL runs: in a sealed process, or unsealed in this one, for SQL you trust.",
)
hindsight_option = click.option(
    "--hindsight",
    type=click.Choice(("show", "omit")),
    default="show",
    show_default=True,
    help="Whether to show columns that nobody could know at the time, such as today's tickers.",
)


def instant_option(flag: str, name: str, meaning: str) -> Callable[[Decorated], Decorated]:
    """A required option that takes an instant."""
    example = "such as 2024-02-15T16:00:00-05:00"
    return click.option(flag, name, metavar="T", required=True, help=f"{meaning}, {example}.")


output_option = click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file [default: stdout]."
)


def format_option(forms: Sequence[str]) -> Callable[[Decorated], Decorated]:
    """The `--format` option over these forms, the first being the default."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        help="How to write the answer.",
    )


def door(as_of: str | None, open_mode: bool) -> datetime | None:
    """The instant a door is opened at, or None for open mode. Raises BadInput when neither or both are asked for."""
    if as_of is not None and open_mode:
        raise BadInput("--as-of", "given together with --open", "choose one of the two")
    if as_of is not None:
        return past(as_of, "--as-of")
    if not open_mode:
        raise BadInput(
            "--as-of", "missing", "name an instant (2024-02-15T16:00:00-05:00), or pass --open to ask without one"
        )
    return None


def known(known_by: str | None, version: int | None) -> datetime | None:
    """The instant by whose lake to answer, None where none is named. Raises BadInput beside a version."""
    if known_by is not None and version is not None:
        raise BadInput("--known-by", "given together with --version", "choose one of the two")
    return None if known_by is None else instant(known_by, "--known-by")
