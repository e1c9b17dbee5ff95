"""Options shared by commands: the lake, its version, --as-of or open mode (which must be requested), and the output."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

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
    "--open", "open_mode", is_flag=True, help="Query without a cut-off; shows everything, including outcomes."
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
    help="Whether to show columns that could not be known at the time, such as today's tickers.",
)


def model_options(command: Decorated) -> Decorated:
    """Add the options that name the language model that asks: model, require."""
    for option in (
        click.option(
            "--require",
            type=click.Choice(("clean",)),
            help="Refuse if the model may have been trained after the instant [default: answer, and say so].",
        ),
        click.option("--for-model", metavar="NAME", help="Model that asks; receipts state whether it is clean."),
    ):
        command = option(command)
    return command


def instant_option(flag: str, name: str, meaning: str) -> Callable[[Decorated], Decorated]:
    example = "such as 2024-02-15T16:00:00-05:00"
    return click.option(flag, name, metavar="T", required=True, help=f"{meaning}, {example}.")


def http_options(command: Decorated) -> Decorated:
    """Add the options of an MCP server that can be reached over HTTP: http, host, port, allowed_hosts."""
    for option in (
        click.option(
            "--allow-host",
            "allowed_hosts",
            multiple=True,
            metavar="NAME",
            help="Accept requests to this host name; required if other machines can reach the server. Can be repeated.",
        ),
        click.option(
            "--port",
            type=click.IntRange(1, 65535),
            default=8000,
            show_default=True,
            help="Port to listen on, with --http.",
        ),
        click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on, with --http."),
        click.option("--http", is_flag=True, help="Serve streamable HTTP at /mcp [default: stdio]."),
    ):
        command = option(command)
    return command


output_option = click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file [default: stdout]."
)


def format_option(forms: Sequence[str], what: str = "answer") -> Callable[[Decorated], Decorated]:
    """Return the `--format` option with these formats; the first is the default. what: what is written."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        help=f"How to write the {what}.",
    )


def flag(argument: str) -> str:
    """Return an argument's name as typed on the command line."""
    return "--open" if argument == "open_mode" else f"--{argument.replace('_', '-')}"
