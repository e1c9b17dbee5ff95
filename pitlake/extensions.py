"""Extensions of the kernel: commands and groups of web pages, named in pyproject.toml.

The entry points `pitlake.commands` and `pitlake.pages` map a name to its location ("module:object"), whose module is
quick to import. A wheel has the packages that fill a lake in the folder `platform`, and a checkout at its top.
"""

import sys
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

Kind = Literal["commands", "pages"]

_PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
_PLATFORM = Path(__file__).with_name("platform")


@cache
def entries(kind: Kind) -> dict[str, str]:
    """Return each extension of a kind and its location, in alphabetical order."""
    if _PROJECT.is_file():
        project = tomllib.loads(_PROJECT.read_text())["project"]
        points: dict[str, str] = project["entry-points"].get(f"pitlake.{kind}", {})
    else:
        from importlib import metadata

        entry_points = metadata.distribution("pitlake").entry_points.select(group=f"pitlake.{kind}")
        points = {point.name: point.value for point in entry_points}
    return dict(sorted(points.items()))


def load(kind: Kind, name: str) -> Any:
    """Import an extension: a click command, or a pitlake.web.app.Room."""
    module, _, attribute = entries(kind)[name].partition(":")
    if _PLATFORM.is_dir() and str(_PLATFORM) not in sys.path:
        sys.path.insert(0, str(_PLATFORM))  # before a user's folder named checks or resources
    return getattr(import_module(module), attribute)


def pages() -> list[Any]:
    """Return every added group of pages. In a wheel, these are only the extensions whose extra is installed."""
    folders = []
    for name in entries("pages"):
        try:
            folders.append(load("pages", name))
        except ModuleNotFoundError:
            if _PROJECT.is_file():
                raise
    return folders
