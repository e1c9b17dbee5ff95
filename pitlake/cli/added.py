"""Commands that live outside of the kernel: what the entry point group `pitlake.commands` names, imported on use.

The name of an entry is the command, its object a click command in a module that is quick to import. In a checkout that
is not installed the same table is read from its pyproject.toml.
"""

import tomllib
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import click

GROUP = "pitlake.commands"


@cache
def entries() -> dict[str, str]:
    """Each added command and where it is ("module:object"), in alphabetical order."""
    try:
        found = {entry.name: entry.value for entry in distribution("pitlake").entry_points if entry.group == GROUP}
    except PackageNotFoundError:
        found = _of_checkout(Path(__file__).resolve().parents[2] / "pyproject.toml")
    return dict(sorted(found.items()))


def _of_checkout(project: Path) -> dict[str, str]:
    if not project.is_file():
        return {}
    listed: dict[str, str] = tomllib.loads(project.read_text())["project"].get("entry-points", {}).get(GROUP, {})
    return listed


def load(name: str) -> click.Command:
    """An added command."""
    module, _, attribute = entries()[name].partition(":")
    command: click.Command = getattr(import_module(module), attribute)
    return command
