"""What a checkout adds to the kernel: commands and rooms of web pages, named in its pyproject.toml.

`tool.pitlake.commands` and `tool.pitlake.rooms` give a name each, and where it is ("module:object"), in a module that
is quick to import. An installed wheel has no checkout around it and adds none.
"""

import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

Kind = Literal["commands", "rooms"]

_PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


@cache
def entries(kind: Kind) -> dict[str, str]:
    """Each added thing of a kind and where it is, in alphabetical order."""
    if not _PROJECT.is_file():
        return {}
    found: dict[str, str] = tomllib.loads(_PROJECT.read_text()).get("tool", {}).get("pitlake", {}).get(kind, {})
    return dict(sorted(found.items()))


def load(kind: Kind, name: str) -> Any:
    """An added thing: a click command, or a pitlake.web.app.Room."""
    module, _, attribute = entries(kind)[name].partition(":")
    return getattr(import_module(module), attribute)
