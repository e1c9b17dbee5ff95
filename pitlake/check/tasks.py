"""What travels between a check and the processes that run the function: the function, what to call it with, replies."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pitlake.check.tables import Answer
from pitlake.errors import BadInput
from pitlake.lake.storage.manifest import Snapshot

EXAMPLE = "give FILE.py::FUNCTION, such as features.py::panel"


@dataclass(frozen=True)
class Function:
    """A function by the file it is in and its name there, as a new process finds it."""

    path: Path
    name: str

    @classmethod
    def parse(cls, text: str) -> "Function":
        """Parse `features.py::panel`. Raises BadInput."""
        path, separator, name = text.rpartition("::")
        if not separator or not path or not name.isidentifier():
            raise BadInput("function", f"{text!r} does not name a function", EXAMPLE)
        file = Path(path)
        if not file.is_file():
            raise BadInput("function", f"there is no file {path}", EXAMPLE)
        return cls(file.resolve(), name)

    @classmethod
    def of(cls, function: Callable[..., Any] | str) -> "Function":
        """Return where a function is defined, which is given itself or as text. Raises BadInput."""
        if isinstance(function, str):
            return cls.parse(function)
        name, source = getattr(function, "__qualname__", ""), None
        if name.isidentifier() and callable(function):
            source = inspect.getsourcefile(inspect.unwrap(function))
        if source is None:
            problem = f"{name or type(function).__name__} is not at the top level of a Python file"
            raise BadInput("function", problem, "define it there, so that a new process can import it")
        return cls(Path(source).resolve(), name)

    def __str__(self) -> str:
        return f"{self.path.name}::{self.name}"


@dataclass(frozen=True, kw_only=True)
class Task:
    """Calls of the function, one after the other in one new process, on one world of the lake.

    Attributes:
        instants: the instants it is called as of, in this order.
        datasets: those that its sessions bind; None for all.
        clock: how far the machine's clock seems to be ahead.
        paths: where modules are imported from.
        lake: where the lake is, for the contracts of mounted tables.
        folder: for temporary files.
    """

    function: Function
    snapshot: Snapshot
    instants: tuple[datetime, ...]
    datasets: tuple[str, ...] | None
    clock: timedelta = timedelta()
    paths: tuple[str, ...]
    lake: str
    folder: Path


@dataclass(frozen=True)
class Sighting:
    """Something a call did that no lake can date: `kind` of a finding, `subject` which, `where` the line of code."""

    kind: str
    subject: str
    where: str


@dataclass(frozen=True)
class TaskReply:
    """What became of one call: the answer, or the error; bad_input: that of a function that can't be checked.

    datasets: those it read; None where that is not known.
    """

    answer: Answer | None
    error: str = ""
    bad_input: tuple[str, str, str] | None = None
    sightings: tuple[Sighting, ...] = ()
    datasets: frozenset[str] | None = None
