"""The notebook extension: `%load_ext pitlake.notebook`, then `%%asof 2024-05-01T00:00:00Z` above a cell of SQL.

The session stays open as long as the two instants, the version and the lake do not change. `$name` in the SQL is the
notebook's variable of that name, bound as a parameter.
"""

import shlex
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from pitlake.bars import Bar, bar_chart
from pitlake.errors import BadInput
from pitlake.questions.catalogue import placeholders
from pitlake.session import Session, Viewpoint, open_session

if TYPE_CHECKING:
    import pandas as pd
    from IPython.core.interactiveshell import InteractiveShell


@dataclass(frozen=True)
class Bars:
    """A bar chart of named numbers that are 0 or more, with one bar each, from the top. It needs no script."""

    title: str
    values: Mapping[str, float]

    def _repr_svg_(self) -> str:
        return bar_chart([Bar(str(name), [("", value)]) for name, value in self.values.items()], self.title, lying=True)


class Line(ArgumentParser):
    """The options of `%%asof`."""

    def __init__(self) -> None:
        super().__init__(prog="%%asof", add_help=False)
        self.add_argument("instant", nargs="?")
        self.add_argument("--open", dest="open_mode", action="store_true")
        self.add_argument("--lake")
        self.add_argument("--version", type=int)
        self.add_argument("--known-by")
        self.add_argument("--isolation", default="process")
        self.add_argument("--into")

    def error(self, message: str) -> NoReturn:
        """Refuse the line instead of ending the kernel."""
        raise BadInput("%%asof", message, " ".join(self.format_usage().split()))


class AsOf:
    """The `%%asof` magic of one shell, and the session behind it."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self._variables, self._line = variables, Line()
        self._viewpoint: Viewpoint | None = None
        self.session: Session | None = None

    def ask(self, line: str, cell: str) -> "pd.DataFrame":
        """%%asof INSTANT [--open] [--lake ROOT] [--version N | --known-by K] [--isolation MODE] [--into NAME]

        Run a cell of SQL over what was public at an instant. --into keeps the Result, with its receipt, as a variable.
        """
        options = vars(self._line.parse_args(shlex.split(line)))
        name = options.pop("into")
        viewpoint = Viewpoint.parse(options.pop("instant"), **options)
        if self.session is None or viewpoint != self._viewpoint:
            self.close()
            self.session = open_session(viewpoint)
            self._viewpoint = viewpoint
        placeholder_names = placeholders(cell)
        for missing in sorted(placeholder_names - self._variables.keys()):
            raise BadInput(f"${missing}", "the notebook has no such variable", f"set {missing} in a cell before")
        values = {placeholder: self._variables[placeholder] for placeholder in placeholder_names} or None
        result = self.session.sql(cell, values)
        if name:
            self._variables[name] = result
        return result.df()

    def close(self) -> None:
        """End the session."""
        if self.session is not None:
            self.session.close()
        self._viewpoint, self.session = None, None


_loaded: dict[int, AsOf] = {}


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """Register the magics, for `%load_ext pitlake.notebook`."""
    magic = _loaded[id(shell)] = AsOf(shell.user_ns)
    shell.register_magic_function(magic.ask, magic_kind="cell", magic_name="asof")  # type: ignore[call-arg, arg-type]


def unload_ipython_extension(shell: "InteractiveShell") -> None:
    """Close the session, for `%unload_ext pitlake.notebook`."""
    if magic := _loaded.pop(id(shell), None):
        magic.close()
