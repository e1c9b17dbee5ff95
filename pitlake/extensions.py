"""Extensions of the kernel: commands and rooms of web pages, named in pyproject.toml.

The entry points `pitlake.commands` and `pitlake.rooms` map a name to its location ("module:object"), in a module that
is quick to import. A wheel contains them too. `tool.pitlake.commands` names the platform's commands, which only a
checkout has.
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
    """Return each extension of a kind and its location, in alphabetical order."""
    return dict(sorted((_from_pyproject(kind) if _PROJECT.is_file() else _installed(kind)).items()))


def load(kind: Kind, name: str) -> Any:
    """Import an extension: a click command, or a pitlake.web.app.Room."""
    module, _, attribute = entries(kind)[name].partition(":")
    return getattr(import_module(module), attribute)


def rooms() -> list[Any]:
    """Return every added room. In a wheel, these are only extensions whose extra is installed."""
    folders = []
    for name in entries("rooms"):
        try:
            folders.append(load("rooms", name))
        except ModuleNotFoundError:
            if _PROJECT.is_file():
                raise
    return folders


def _from_pyproject(kind: Kind) -> dict[str, str]:
    project = tomllib.loads(_PROJECT.read_text())
    shared: dict[str, str] = project["project"].get("entry-points", {}).get(f"pitlake.{kind}", {})
    own: dict[str, str] = project.get("tool", {}).get("pitlake", {}).get(kind, {})
    return shared | own


def _installed(kind: Kind) -> dict[str, str]:
    from importlib import metadata

    points = metadata.distribution("pitlake").entry_points.select(group=f"pitlake.{kind}")
    return {point.name: point.value for point in points}
