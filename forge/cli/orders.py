"""Orders of the PM that do not change the book: `pitlake forge own-view | stop`."""

from pathlib import Path

import click

from forge.cli.memories import own_desk


@click.command("own-view")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--id", "name", metavar="ID", default="new", help="View that the text replaces [default: a new View].")
def own_view(file: Path | None, name: str) -> None:
    """Write a View of your own from FILE, or show an example."""
    from forge.desk.commands import example_view, state_view
    from pitlake.cli.sessions import typed
    from pitlake.errors import BadInput

    if file is None and name != "new":
        raise BadInput("FILE", f"missing, although --id is {name[:40]!r}", "name the file with the new text")
    if file is None:
        click.echo(example_view(), nl=False)
        return
    text = typed(lambda: file.read_text(encoding="utf-8"), "FILE")
    own = own_desk()
    click.echo(state_view(own, own.memory(), text, name))


@click.command()
@click.argument("name", metavar="NAME")
@click.option("--reason", default="", help="The reason, which the output shows [default: none].")
def stop(name: str, reason: str) -> None:
    """Stop a running decision or backtest, by its name.

    A decision ends before its next request to a model and states the facts it has. A backtest ends before its next
    decision; the same command continues it.
    """
    from forge.desk.commands import stop as stop_running

    click.echo(stop_running(own_desk(), name, reason))


COMMANDS = (own_view, stop)
