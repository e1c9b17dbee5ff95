"""`pitlake run QUERY`: a query of the catalogue with its parameters as options.

`pitlake run` alone lists the queries. sql/queries defines them.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pitlake.cli import render
from pitlake.cli.answering import answer_options, deliver_answer
from pitlake.cli.sessions import opened, session_options
from pitlake.questions import catalogue

if TYPE_CHECKING:
    from pitlake.session import Viewpoint


class NamedQueries(click.Group):
    """A group with one command per query."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(catalogue.all_queries())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a query, or None."""
        query = catalogue.find(cmd_name)
        if query is None:
            return None

        def run(viewpoint: "Viewpoint", form: str, output: Path | None, receipt: bool, **values: Any) -> None:
            bound = query.bind(values)
            render.check_target(form, output)
            with opened(viewpoint, query.reads) as session:
                deliver_answer(session, query, bound, form, output, receipt=receipt)

        decorated: Callable[..., None] = answer_options(session_options(run))
        for parameter in reversed(query.parameters):
            default = f"[default: {parameter.default}]" if parameter.default else ""
            option = click.option(
                f"--{parameter.name.replace('_', '-')}",
                parameter.name,
                metavar=parameter.type.upper(),
                help=f"{parameter.meaning} {'[required]' if parameter.required else default}".rstrip(),
            )
            decorated = option(decorated)
        text = f"{query.summary}\n\nReads {', '.join(query.reads)}; gives {', '.join(f.name for f in query.columns)}."
        return click.command(query.name, help=text, short_help=query.summary)(decorated)


@click.group("run", cls=NamedQueries, invoke_without_command=True, subcommand_metavar="QUERY [OPTIONS]")
@click.pass_context
def command(context: click.Context) -> None:
    """Run a named query over what was public at an instant.

    \b
    pitlake run news_latest --ticker QBG --as-of 2024-02-15T16:00:00-05:00
    """
    if context.invoked_subcommand is None:
        rows = [(query.name, query.agent, query.summary) for query in catalogue.all_queries().values()]
        render.deliver(render.grid(("query", "agent", "what"), rows), None)
