"""Commands that a checkout adds to the kernel's: what `tool.pitlake.commands` of its pyproject.toml names.

The key is the command, its value ("module:object") a click command in a module that is quick to import. An installed
wheel has no checkout around it and adds none.
"""

import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path

import click

_PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


@cache
def entries() -> dict[str, str]:
    """Each added command and where it is ("module:object"), in alphabetical order."""
    if not _PROJECT.is_file():
        return {}
    found: dict[str, str] = tomllib.loads(_PROJECT.read_text()).get("tool", {}).get("pitlake", {}).get("commands", {})
    return dict(sorted(found.items()))


def load(name: str) -> click.Command:
    """An added command."""
    module, _, attribute = entries()[name].partition(":")
    command: click.Command = getattr(import_module(module), attribute)
    return command
