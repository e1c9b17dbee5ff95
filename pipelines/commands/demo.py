"""`pitlake demo`: a lake of public figures, and a question with two answers. Implemented in pipelines.demo."""

from pathlib import Path

import click

from pitlake import __version__


@click.command("demo")
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder of the lake [default: below this user's data folder].",
)
@click.option("--web", is_flag=True, help="Open the time machine on the lake in this machine's browser.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="Port of --web; 0 picks a free one."
)
@click.pass_context
def command(context: click.Context, into: Path | None, web: bool, port: int) -> None:
    """Ask one question as of two instants, of real public figures.

    The lake has figures of Apple, NVIDIA and Snowflake from EDGAR, and the Bureau of Economic Analysis's GDP.
    Nothing leaves this machine.
    """
    import platformdirs

    from pipelines.demo import story
    from pipelines.demo.lake import built
    from pitlake.cli import render

    folder = into or platformdirs.user_data_path("pitlake") / f"demo-{__version__}"
    lake = built(folder.absolute(), render.say)
    if not web:
        click.echo(f"{story.answers(lake, render.say)}\n\n{story.next_steps(lake)}")
        return
    from pitlake.cli.web import command as serve

    context.invoke(serve, lake=str(lake.root), as_of=story.AFTER, ticker="AAPL", port=port, browse=True)
