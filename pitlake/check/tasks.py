"""The messages between a check and the processes that run the function: the function, its calls, and replies."""

import inspect
import pickle
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any

from pitlake.check.tables import Answer
from pitlake.errors import BadInput
from pitlake.lake.storage.manifest import Snapshot

LENGTH = struct.Struct(">Q")
EXAMPLE = "give FILE.py::FUNCTION, such as features.py::panel"


@dataclass(frozen=True)
class Function:
    """A function by its file and its name, so that a new process can find it."""

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
        """Return the location of a function, given as an object or as text. Raises BadInput."""
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
    """Calls of the function, in order in one new process, on one world of the lake.

    Attributes:
        instants: the instants of the calls, in this order.
        datasets: the datasets its sessions bind; None for all.
        clock: how far ahead the machine's clock appears to be.
        paths: the folders that modules are imported from.
        lake: the lake's location, for the contracts of mounted tables.
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
    """An action during a call that a lake cannot date.

    `kind`: the kind of the finding. `subject`: the file or address. `where`: the line of code.
    """

    kind: str
    subject: str
    where: str


@dataclass(frozen=True)
class TaskReply:
    """The result of one call: the answer, or the error. bad_input: the error of a function that can't be checked.

    datasets: the datasets it read; None if unknown.
    """

    answer: Answer | None
    error: str = ""
    bad_input: tuple[str, str, str] | None = None
    sightings: tuple[Sighting, ...] = ()
    datasets: frozenset[str] | None = None


def write(stream: IO[bytes], value: object) -> None:
    content = pickle.dumps(value)
    stream.write(LENGTH.pack(len(content)) + content)
    stream.flush()


def read(stream: IO[bytes]) -> Any:
    """Read a value that `write` wrote. Raises EOFError at the end of the stream."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    return pickle.loads(stream.read(LENGTH.unpack(head)[0]))  # noqa: S301 - from our own other end
