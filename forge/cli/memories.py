"""Selects the desk and memory of a command: `pitlake forge --memory NAME …` and `--run NAME`."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from forge.desk import Desk


def own_desk() -> "Desk":
    """Return the PM's desk, as selected by the environment and `--memory`."""
    from forge.desk import desk

    return desk()


def choose_memory(context: click.Context, name: str | None, option: str = "--memory") -> None:
    """Make a command use a memory, by its name. Raises BadInput for an unknown name."""
    if name is None:
        return
    from forge.desk import memories
    from forge.memory.memory import LAKE_VARIABLE
    from pitlake.errors import BadInput, choice

    roots = memories()
    if name not in roots:
        raise BadInput(option, f"there is no memory {name[:40]!r}", choice(name, list(roots)))
    before = os.environ.get(LAKE_VARIABLE)
    os.environ[LAKE_VARIABLE] = roots[name]

    def restore() -> None:
        os.environ.pop(LAKE_VARIABLE)
        if before is not None:
            os.environ[LAKE_VARIABLE] = before

    context.call_on_close(restore)


def run_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--run NAME` to a command, which then works on the memory and tape of that backtest."""
    text = "Backtest that made the decision, as `pitlake forge memories` names it [default: none]."
    return click.option(
        "--run",
        metavar="NAME",
        callback=lambda context, _option, name: choose_memory(context, name, "--run"),
        expose_value=False,
        help=text,
    )(command)
