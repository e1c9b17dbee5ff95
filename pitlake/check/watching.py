"""Watches all actions of a call except queries of its session: other sessions, files, network requests, the clock.

It is used in a process that runs one task. Other sessions are opened on the task's world. Actions that a lake cannot
date are recorded with the line of the user's code.
"""

import ast
import datetime as dt
import os
import re
import socket
import sys
import sysconfig
import time as time_module
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Any

from pitlake.check import readers
from pitlake.check.tasks import Sighting, Task
from pitlake.clock import iso
from pitlake.session import api
from pitlake.session.session import Session
from pitlake.session.viewpoint import Viewpoint
from pitlake.session.visible.cut_cache import CutCache

_CODE = re.compile(r"\.(py|pyc|pyi|pyd|so|dylib|pth|toml|cfg|ini)$|\.so\.\d")
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/lib")
_DATA = re.compile(
    r"\.(csv|tsv|parquet|feather|arrow|orc|db|duckdb|sqlite3?|h5|hdf5?|xlsx?|np[yz]|pkl|pickle)(\.\w+)?$", re.IGNORECASE
)
"""Files that are data even in the folder of a library."""
_PROCESSES = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn"})
_EVENTS = frozenset({"open", "socket.connect", "socket.getaddrinfo", "sqlite3.connect"})
_LISTS = frozenset({"datasets", "views", "unions", "contracts", "newest", "__dict__"})
"""Members of a session that list all of its datasets."""
_CONSTANTS, _LONG_TEXT = 50, 2_000
"""A module with a literal of this many constants, or a string of this length, contains data."""
_OURS = str(Path(__file__).resolve().parents[1]) + os.sep
_LIBRARIES = tuple(
    {os.path.realpath(place) + os.sep for place in (sys.prefix, sys.base_prefix, str(Path(os.__file__).parent))}
)


_WATCHERS = frozenset({os.path.realpath(__file__), os.path.realpath(readers.__file__)})
_INSTALLED = tuple(os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("purelib", "platlib"))


class Watch:
    """The actions of a task's calls. at: the instant of the running call; None between calls."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.at: dt.datetime | None = None
        self.sightings: list[Sighting] = []
        self.datasets: set[str] | None = set()
        self._open = api.open_session
        self._cuts = CutCache(task.folder / "cuts")
        self._inside = False

    def open(self, viewpoint: Viewpoint, **options: Any) -> Session:
        """Open a session on the task's world."""
        options = {"datasets": self.task.datasets} | options
        options |= {"snapshot": self.task.snapshot, "cut_cache": self._cuts}
        world = replace(viewpoint, lake=self.task.lake, isolation="in_process", version=None, known_by=None)
        return self._open(world, **options)

    def start(self) -> None:
        """Watch this process from now on, permanently."""
        sys.addaudithook(self._audit)
        api.open_session = self._open_another
        self._wrap_queries()
        readers.reports.append(self._note_file)

    def _open_another(self, viewpoint: Viewpoint, **options: Any) -> Session:
        if self.at is None:
            pass
        elif viewpoint.as_of is None:
            self._note("session", "open mode")
        else:
            self._note_later(viewpoint.as_of)
        options.pop("snapshot", None)
        return self.open(viewpoint, **options)

    def _note_later(self, as_of: dt.datetime) -> None:
        if self.at is not None and as_of > self.at:
            self._note("session", f"as of {iso(as_of)}")

    def _wrap_queries(self) -> None:
        ask, advance, watch = self._noting_failures(Session.ask), Session.advance, self

        @wraps(ask)
        def noting(session: Session, question: Any, *arguments: Any, **options: Any) -> Any:
            result = ask(session, question, *arguments, **options)
            views = result.reading.views
            read = getattr(question, "reads", None) if views is None else [session.views[view] for view in views]
            if read is None or watch.datasets is None:
                watch.datasets = None
            else:
                watch.datasets.update(read)
            return result

        @wraps(advance)
        def moving(session: Session, as_of: Any) -> None:
            advance(session, as_of)
            if session.as_of is not None:
                watch._note_later(session.as_of)

        def looking(session: Session, name: str) -> Any:
            if name in _LISTS and not str(sys._getframe(1).f_globals.get("__name__")).startswith("pitlake."):  # noqa: SLF001
                watch.datasets = None
            return object.__getattribute__(session, name)

        Session.ask = noting  # type: ignore[method-assign,assignment]
        Session.advance = moving  # type: ignore[method-assign,assignment]
        Session.__getattribute__ = looking  # type: ignore[assignment]
        for name in ("__getattr__", "__getitem__"):
            setattr(Session, name, self._noting_failures(getattr(Session, name)))

    def _noting_failures(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a method. After a failed call, the function may need any dataset."""

        @wraps(method)
        def noting(*arguments: Any, **options: Any) -> Any:
            try:
                return method(*arguments, **options)
            except Exception:
                self.datasets = None
                raise

        return noting

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._inside or (event not in _EVENTS and event not in _PROCESSES):
            return
        self._inside = True  # Files that this function opens while it inspects frames and paths are not recorded.
        try:
            self._note_event(event, arguments)
        finally:
            self._inside = False

    def _note_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _PROCESSES:
            command = arguments[1] if event == "subprocess.Popen" else arguments[0]
            words = command if isinstance(command, str | bytes | os.PathLike) else " ".join(map(str, command))
            self._note("process", os.fsdecode(words), directly=True)
        elif event == "socket.connect":
            if arguments[0].family != socket.AF_UNIX:
                self._note("network", str(arguments[1]))
        elif event == "socket.getaddrinfo":
            self._note("network", str(arguments[0]))
        elif isinstance(arguments[0], str | bytes | os.PathLike):
            path = os.fsdecode(arguments[0])
            if event == "sqlite3.connect":
                path = path.removeprefix("file:").partition("?")[0]
                if path and not path.startswith(":memory:"):
                    self._note_file(path)
            elif not _writes(arguments[1], arguments[2]):
                self._note_file(path)

    def note_data_modules(self, before: Collection[str]) -> None:
        """Record the user's modules, imported since `before`, that contain data instead of code."""
        for name, module in [(name, module) for name, module in sys.modules.items() if name not in before]:
            path = os.path.realpath(getattr(module, "__file__", None) or "")
            own = (
                path.endswith(".py")
                and not path.startswith((*_LIBRARIES, _OURS))
                and Path(path) != self.task.function.path
            )
            if own and _holds_data(path):
                self._add(Sighting("file", path, f"{path}, imported as {name}"))

    def _note_file(self, path: str) -> None:
        resolved = os.path.realpath(path)
        if (resolved.startswith(_LIBRARIES) and _DATA.search(resolved)) or not (
            _CODE.search(resolved) or resolved.startswith((*_SYSTEM, *_LIBRARIES, str(self.task.folder) + os.sep))
        ):
            self._note("file", path)

    def _note(self, kind: str, subject: str, *, directly: bool = False) -> None:
        # pitlake reads files of its own, but it opens another session only because the user's line asks for one.
        frame = sys._getframe(1)  # noqa: SLF001 - no other way to callers
        where = _line_of_user(frame, through_ours=kind == "session", directly=directly)
        if where is not None:
            self._add(Sighting(kind, subject, f"{subject}, at {where}"))

    def _add(self, sighting: Sighting) -> None:
        if sighting not in self.sightings:
            self.sightings.append(sighting)


def _holds_data(path: str) -> bool:
    """Return whether a module defines no function or class and has a long literal."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False
    nodes = list(ast.walk(tree))
    if any(isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef) for node in nodes):
        return False
    literals = [node for node in nodes if isinstance(node, ast.List | ast.Dict | ast.Tuple | ast.Set)]
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)]
    return any(
        sum(isinstance(inner, ast.Constant) for inner in ast.walk(literal)) >= _CONSTANTS for literal in literals
    ) or any(len(text) >= _LONG_TEXT for text in texts)


def _writes(mode: Any, flags: Any) -> bool:
    if isinstance(mode, str) and mode:
        return not mode.startswith(("r", "U"))
    return bool(isinstance(flags, int) and flags & (os.O_WRONLY | os.O_CREAT))


def _line_of_user(frame: FrameType | None, *, through_ours: bool, directly: bool = False) -> str | None:
    """Return the nearest calling line outside any library.

    Return None if the caller is an import, or is pitlake and `through_ours` is false. directly: also return None if a
    library other than Python's own called, because libraries start their own workers.
    """
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith("<frozen importlib"):
            return None
        path = os.path.realpath(name)
        is_ours = path.startswith(_OURS)
        if is_ours and not through_ours and path not in _WATCHERS:
            return None
        if directly and path.startswith(_INSTALLED):
            return None
        if not is_ours and not name.startswith("<") and not path.startswith(_LIBRARIES):
            return f"{Path(name).name}:{frame.f_lineno}"
        frame = frame.f_back
    return None


@contextmanager
def clock_ahead(by: dt.timedelta) -> Iterator[None]:
    """Make this process's clock seem to be ahead, for Python and pandas."""
    real_datetime, real_date = dt.datetime, dt.date
    real_time, real_time_ns = time_module.time, time_module.time_ns
    seconds = by.total_seconds()

    class ShiftedDatetime(real_datetime, metaclass=readers.Alike):  # type: ignore[misc,valid-type]
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return real_datetime.now(tz) + by

        @classmethod
        def utcnow(cls) -> Any:
            return real_datetime.now(dt.timezone.utc).replace(tzinfo=None) + by

        @classmethod
        def today(cls) -> Any:
            return cls.now()

    class ShiftedDate(real_date, metaclass=readers.Alike):  # type: ignore[misc,valid-type]
        @classmethod
        def today(cls) -> Any:
            return (real_datetime.now(dt.timezone.utc) + by).date()

    dt.datetime = ShiftedDatetime  # type: ignore[misc]
    dt.date = ShiftedDate  # type: ignore[misc]
    time_module.time = lambda: real_time() + seconds
    time_module.time_ns = lambda: real_time_ns() + int(seconds) * 10**9
    pandas_stamp = getattr(sys.modules.get("pandas"), "Timestamp", None)
    if pandas_stamp is not None:
        real_now = pandas_stamp.now
        pandas_stamp.now = classmethod(lambda _cls, tz=None: real_now(tz) + by)
        pandas_stamp.today = classmethod(lambda _cls, tz=None: real_now(tz) + by)
        pandas_stamp.utcnow = classmethod(lambda _cls: real_now("UTC") + by)
    try:
        yield
    finally:  # pitlake's own code keeps the real functions.
        dt.datetime, dt.date = real_datetime, real_date  # type: ignore[misc]
        time_module.time, time_module.time_ns = real_time, real_time_ns
