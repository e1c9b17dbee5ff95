"""Watches all actions of a call except queries of its session: other sessions, files, network requests, the clock.

It is used in a process that runs one task. Other sessions are opened on the task's world. Actions that cannot be dated
by a lake are recorded with the line of the user's code.
"""

import datetime as dt
import os
import re
import socket
import sys
import time as time_module
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from pitlake.check.tasks import Sighting, Task
from pitlake.clock import iso
from pitlake.session import api
from pitlake.session.session import Session
from pitlake.session.viewpoint import Viewpoint
from pitlake.session.visible.cut_cache import CutCache

_CODE = re.compile(r"\.(py|pyc|pyi|pyd|so|dylib|pth|toml|cfg|ini)$|\.so\.\d")
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/lib")
_FILE_IN_SQL = re.compile(r"'[^']+\.(?:parquet|csv|tsv|json|jsonl|ndjson|db|duckdb)'", re.IGNORECASE)
_READERS = {
    "pyarrow.parquet": ("read_table", "ParquetFile", "ParquetDataset"),
    "pyarrow.dataset": ("dataset",),
    "pyarrow.csv": ("read_csv", "open_csv"),
    "pyarrow.json": ("read_json",),
    "pyarrow.feather": ("read_table", "read_feather"),
    "pyarrow": ("memory_map", "OSFile"),
    "polars": (
        *("read_csv", "read_parquet", "read_json", "read_ndjson", "read_ipc", "read_avro", "read_excel", "read_delta"),
        *("scan_csv", "scan_parquet", "scan_ndjson", "scan_ipc", "scan_delta"),
    ),
    "duckdb": ("connect", "sql", "query", "execute", "read_parquet", "read_csv", "read_json"),
    "deltalake": ("DeltaTable",),
}
"""Functions that open files without Python's `open`."""
_OURS = str(Path(__file__).resolve().parents[1]) + os.sep
_LIBRARIES = tuple(
    {os.path.realpath(place) + os.sep for place in (sys.prefix, sys.base_prefix, str(Path(os.__file__).parent))}
)


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
        for module_name, names in _READERS.items():
            self._wrap_readers(module_name, names)

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
        ask, advance, watch = Session.ask, Session.advance, self

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

        Session.ask = noting  # type: ignore[method-assign,assignment]
        Session.advance = moving  # type: ignore[method-assign,assignment]

    def _wrap_readers(self, module_name: str, names: tuple[str, ...]) -> None:
        try:
            module = import_module(module_name)
        except ImportError:
            return
        for name in names:
            reader = getattr(module, name, None)
            if reader is None:
                continue
            in_sql = name in {"sql", "query", "execute"}
            if isinstance(reader, type):
                setattr(module, name, type(name, (reader,), {"__init__": self._noting(reader.__init__, in_sql)}))  # type: ignore[misc]
            else:
                setattr(module, name, self._noting(reader, in_sql))

    def _noting(self, reader: Callable[..., Any], in_sql: bool) -> Callable[..., Any]:
        @wraps(reader, assigned=("__name__", "__doc__"))
        def noting(*arguments: Any, **options: Any) -> Any:
            for value in (*arguments, *options.values()):
                if in_sql and isinstance(value, str):
                    for literal in _FILE_IN_SQL.findall(value) and _FILE_IN_SQL.finditer(value):
                        self._note_file(literal.group().strip("'"))
                elif isinstance(value, str | os.PathLike) and not in_sql and _looks_like_a_path(os.fspath(value)):
                    self._note_file(os.fspath(value))
                    break
            return reader(*arguments, **options)

        return noting

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in {"open", "socket.connect"} or self._inside:
            return
        self._inside = True  # Files that this function opens while it inspects frames and paths are not recorded.
        try:
            if event == "socket.connect":
                if arguments[0].family != socket.AF_UNIX:
                    self._note("network", str(arguments[1]))
            elif isinstance(arguments[0], str | bytes | os.PathLike) and not _writes(arguments[1], arguments[2]):
                self._note_file(os.fsdecode(arguments[0]))
        finally:
            self._inside = False

    def _note_file(self, path: str) -> None:
        resolved = os.path.realpath(path)
        if _CODE.search(resolved) or resolved.startswith((*_SYSTEM, *_LIBRARIES, str(self.task.folder) + os.sep)):
            return
        self._note("file", path)

    def _note(self, kind: str, subject: str) -> None:
        # pitlake reads files of its own, but it opens another session only because the user's line asks for one.
        where = _line_of_user(sys._getframe(1), through_ours=kind == "session")  # noqa: SLF001 - no other way to callers
        if where is not None:
            sighting = Sighting(kind, subject, f"{subject}, at {where}")
            if sighting not in self.sightings:
                self.sightings.append(sighting)


def _looks_like_a_path(text: str) -> bool:
    return text not in {"", ":memory:", ":default:"}


def _writes(mode: Any, flags: Any) -> bool:
    if isinstance(mode, str) and mode:
        return not mode.startswith(("r", "U"))
    return bool(isinstance(flags, int) and flags & (os.O_WRONLY | os.O_CREAT))


def _line_of_user(frame: FrameType | None, *, through_ours: bool) -> str | None:
    """Return the nearest calling line outside any library.

    Return None if the caller is an import, or is pitlake and `through_ours` is false.
    """
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith("<frozen importlib"):
            return None
        path = os.path.realpath(name)
        is_ours = path.startswith(_OURS)
        if is_ours and not through_ours and path != os.path.realpath(__file__):
            return None
        if not is_ours and not name.startswith("<") and not path.startswith(_LIBRARIES):
            return f"{Path(name).name}:{frame.f_lineno}"
        frame = frame.f_back
    return None


class _Alike(type):
    """Count instances of the real class as instances of its replacement."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__bases__[0])

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.__bases__[0])


@contextmanager
def clock_ahead(by: dt.timedelta) -> Iterator[None]:
    """Make this process's clock seem to be ahead, for Python and pandas."""
    real_datetime, real_date = dt.datetime, dt.date
    real_time, real_time_ns = time_module.time, time_module.time_ns
    seconds = by.total_seconds()

    class ShiftedDatetime(real_datetime, metaclass=_Alike):  # type: ignore[misc,valid-type]
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return real_datetime.now(tz) + by

        @classmethod
        def utcnow(cls) -> Any:
            return real_datetime.now(dt.timezone.utc).replace(tzinfo=None) + by

        @classmethod
        def today(cls) -> Any:
            return cls.now()

    class ShiftedDate(real_date, metaclass=_Alike):  # type: ignore[misc,valid-type]
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
