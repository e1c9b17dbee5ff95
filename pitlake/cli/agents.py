"""`pitlake agents …`: the agent kit in a project, implemented by pitlake.agents."""

import os
from pathlib import Path

import click

from pitlake.cli.options import known_by_option, lake_option, model_options
from pitlake.cli.sessions import parse_viewpoint

dir_option = click.option(
    "--dir",
    "project",
    type=click.Path(path_type=Path),
    default=".",
    metavar="FOLDER",
    help="Folder of the project [default: the current one].",
)


@click.group()
def command() -> None:
    """Install the agent kit into a project, check it, or run an agent.

    The kit is Claude Code's agents, skills, hooks and server settings for the lake.
    """


@command.command()
@dir_option
def install(project: Path) -> None:
    """Install or update the kit in a project. The project's own files are never overwritten."""
    from pitlake.agents import install as kit

    kit.install(project.resolve())
    record = kit.recorded(project.resolve())
    click.echo(
        f"{len(record.files) if record else 0} files, the hooks and the server pitlake are in {project.resolve()}"
    )
    _check(project)


@command.command()
@dir_option
def check(project: Path) -> None:
    """Check the kit in a project. The exit code is 1 if something is missing or broken."""
    _check(project)


@command.command()
@dir_option
def uninstall(project: Path) -> None:
    """Remove the kit from a project. Files changed since the installation are kept and listed."""
    from pitlake.agents import install as kit

    changed_files = kit.uninstall(project.resolve())
    click.echo(f"the agent kit was removed from {project.resolve()}")
    for name in changed_files:
        click.echo(f"kept: {name} (it was changed)", err=True)


@command.command(context_settings={"ignore_unknown_options": True})
@lake_option
@known_by_option
@model_options
@click.option("--as-of", metavar="T", required=True, help="Let the program see only what was public at this time.")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
def run(program: tuple[str, ...], as_of: str, lake: str | None, **options: str | None) -> None:
    """Run a program that can only query a server as of T. Linux only.

    The program, such as claude, cannot read the lake's files.

    \b
    pitlake agents run --as-of 2024-05-29T17:00:00-04:00 -- claude
    """
    from pitlake.agents.run import run as run_away

    parse_viewpoint(as_of, lake=lake, **options)  # Refuse before any folder is covered.
    click.get_current_context().exit(run_away(program, as_of, lake, **options))


@command.command(hidden=True)
def connect() -> None:
    """Connect stdin and stdout to the server behind $PITLAKE_SOCKET."""
    from pitlake.agents.run import SOCKET, connect
    from pitlake.errors import BadInput

    if not os.environ.get(SOCKET):
        raise BadInput(SOCKET, "is not set", "start the program with pitlake agents run")
    connect(os.environ[SOCKET])


def _check(project: Path) -> None:
    from pitlake.agents import install as kit
    from pitlake.errors import PitlakeError

    wrong = kit.check(project.resolve())
    if wrong:
        raise PitlakeError("; ".join(wrong))
    click.echo("checked: the files are unchanged, the hooks run, and the server is found")
