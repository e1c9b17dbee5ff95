"""`pitlake sealed`: untrusted SQL over files, in a process that can do nothing else."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pitlake.cli.options import flag
from pitlake.errors import BadInput

if TYPE_CHECKING:
    from pitlake.session import Session


@click.command("sealed")
@click.argument("files", nargs=-1, required=True, metavar="[NAME=]FILE...")
@click.option("--mcp", is_flag=True, help="Serve an agent over the Model Context Protocol, by stdio.")
@click.option("--sql", metavar="SQL", help="Run this SQL and print the rows of its last statement.")
@click.option("--as-of", metavar="T", help="Leave out rows that became known after this time; needs --available-at.")
@click.option("--available-at", metavar="COLUMN", help="The column that says when a row became known.")
@click.option("--seconds", default=60.0, show_default=True, help="Longest time of a query.")
@click.option("--memory", default=8.0, show_default=True, metavar="GIB", help="Most memory of the process.")
@click.option("--rows", default=10_000_000, show_default=True, help="Most rows of an answer.")
def command(
    files: tuple[str, ...],
    mcp: bool,
    sql: str | None,
    as_of: str | None,
    available_at: str | None,
    seconds: float,
    memory: float,
    rows: int,
) -> None:
    """Run untrusted SQL over your files, sealed.

    Each file becomes a table with its own name, or with NAME. SQL can read these tables and nothing else: no file, no
    network, no extension. Nothing is stored.

    \b
    pitlake sealed orders.parquet users.csv --sql "SELECT count(*) FROM orders"
    pitlake sealed orders.parquet users.csv --mcp
    """
    if mcp == (sql is not None):
        raise BadInput("--mcp", "missing, or given together with --sql", "give either --mcp or --sql")
    from pitlake.session.limits import GIB, Limits
    from pitlake.session.sealing import read, sealed

    paths: dict[str, str] = {}
    for text in files:
        assignment = re.fullmatch(r"([^\W\d]\w*)=(.+)", text)
        name, path = assignment.groups() if assignment else (Path(text).name.partition(".")[0], text)
        if not name.isidentifier():
            raise BadInput("FILE", f"{name!r} can't name a table", f"write a name before it, such as mine={path}")
        if name in paths:
            raise BadInput("FILE", f"two files are called {name}", f"name one of them, such as mine={path}")
        paths[name] = path
    tables = {name: read(path) for name, path in paths.items()}
    limits = Limits(seconds=seconds, memory=int(memory * GIB), rows=rows)

    def open_session() -> "Session":
        try:
            return sealed(tables, as_of=as_of, available_at=available_at, limits=limits)
        except BadInput as error:
            field = flag(error.field) if error.field in ("as_of", "available_at") else error.field
            raise BadInput(field, error.problem, error.next_step) from None

    if sql is not None:
        from pitlake.cli import render

        with open_session() as session:
            render.write(session.sql(sql).arrow(), "table", None)
        return
    from contextlib import closing

    from pitlake.mcp.sealed import SealedTools, server

    with closing(SealedTools(open_session)) as tools:
        server(tools).run("stdio")
