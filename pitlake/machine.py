"""Recognises by the errors of libraries that this machine has run out of disk, open files or memory.

Libraries report this in different ways, some as damage of a file. This module turns all of these errors into one error
with the place and the next step. It frees nothing.
"""

import errno
import os
import re
import resource
import shutil
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pitlake.errors import LakeError, MachineExhausted, PitlakeError

DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
FILES = frozenset({errno.EMFILE, errno.ENFILE})
LEAST_FILES = 256
LEAST_ROOM = 1 << 20
"""The free space that a commit requires for its own files and its report."""
LEAST_ADDRESSES = 4 << 30  # With less than this, libraries and their threads abort the process without a message.
_NUMBER = re.compile(r"os error (\d+)|[Ee]rrno (\d+)")
_NO_MEMORY = re.compile(r"can't start new thread|[Oo]ut of [Mm]emory|malloc of size|failed to allocate|spawn thread")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
LONGEST = 300
_FOREIGN = ("pyarrow", "duckdb", "_duckdb", "sqlite3", "deltalake", "obstore", "pyo3_runtime", "_internal")
_NAMED = {os.strerror(number): number for number in (*DISK, *FILES, errno.ENOMEM)}


def lacking(problem: BaseException) -> str:
    """Return what the machine has run out of: "disk", "files", "memory", or "" for another error."""
    if isinstance(problem, MachineExhausted):
        return problem.resource
    if isinstance(problem, MemoryError):
        return "memory"
    number = _number(problem)
    if number in DISK:
        return "disk"
    return "files" if number in FILES else "memory" if number == errno.ENOMEM else ""


def exhausted(problem: BaseException, place: str, path: Path | str) -> MachineExhausted | None:
    """Return the error to raise if the machine ran out of something. place: what is at the path, such as "the lake"."""
    shortage = lacking(problem)
    return MachineExhausted(shortage, place, str(path), _says(shortage, problem)) if shortage else None


@contextmanager
def working_in(place: str, path: Path | str) -> Iterator[None]:
    """Turn system errors below a path, such as a full disk, into a LakeError with place and path."""
    try:
        yield
    except MachineExhausted as problem:
        _let_go(problem)
        raise
    except PitlakeError:
        raise
    except BaseException as problem:
        shortage = exhausted(problem, place, path)
        if shortage is None and not (isinstance(problem, OSError) or type(problem).__module__.startswith(_FOREIGN)):
            raise
        _let_go(problem)
        at = getattr(problem, "filename", None) or path
        says = getattr(problem, "strerror", None) or one_line(problem)
        raise shortage or LakeError(f"{place} ({at}): {says}") from None


class DiskSpace(NamedTuple):
    """The disk at a path: the free bytes for this user, all bytes, and the number of new files (-1: unlimited)."""

    free: int
    size: int
    files: int


def room(path: Path) -> DiskSpace:
    """Return the free bytes at a path, which need not exist yet. Raises OSError."""
    there = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    facts = os.statvfs(there)
    return DiskSpace(
        shutil.disk_usage(there).free, shutil.disk_usage(there).total, facts.f_favail if facts.f_files else -1
    )


def require_room(place: str, path: Path) -> None:
    """Raise MachineExhausted if the disk is too full to commit."""
    if (free := room(path).free) < LEAST_ROOM:
        problem = f"{os.strerror(errno.ENOSPC)}, or {free >> 10} KiB of it, where a commit takes {LEAST_ROOM >> 10}"
        raise MachineExhausted("disk", place, str(path), problem)


def in_uv_cache() -> bool:
    """Return whether `uvx` made this environment. Its commands are on the path only while it runs."""
    return "archive-v" in sys.prefix


def require(place: str, path: str) -> None:
    """Raise MachineExhausted if the limits of this process are too low to start."""
    addresses, _ = resource.getrlimit(resource.RLIMIT_AS)
    if addresses != resource.RLIM_INFINITY and addresses < LEAST_ADDRESSES:
        raise MachineExhausted(
            "memory", place, path, f"this process may use {addresses >> 20} MiB of addresses (ulimit -v)"
        )
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY and files < LEAST_FILES:
        if most != resource.RLIM_INFINITY and most < LEAST_FILES:
            raise MachineExhausted(
                "files", place, path, f"this process may have {most} open files (ulimit -n), and it takes more"
            )
        resource.setrlimit(resource.RLIMIT_NOFILE, (LEAST_FILES, most))


def _let_go(problem: BaseException | None) -> None:
    """Release the variables of failed calls, because mapped files take space and errors are often kept."""
    while problem is not None:
        traceback.clear_frames(problem.__traceback__)
        problem = problem.__context__


def _number(problem: BaseException) -> int | None:
    if isinstance(problem, OSError) and problem.errno:
        return problem.errno
    kind = type(problem)
    if not isinstance(problem, OSError | RuntimeError) and not kind.__module__.startswith(_FOREIGN):
        return None
    text = str(problem)
    if match := _NUMBER.search(text):
        return int(match[1] or match[2])
    if _NO_MEMORY.search(text):
        return errno.ENOMEM
    if "disk is full" in text:  # SQLite's words
        return errno.ENOSPC
    return next((number for name, number in _NAMED.items() if name in text), None)


def one_line(problem: BaseException) -> str:
    """Return a library's message without colours, as one line of limited length."""
    return " ".join(_COLOUR.sub("", str(problem)).split())[:LONGEST] or type(problem).__name__


def _says(shortage: str, problem: BaseException) -> str:
    if shortage == "disk":
        number = _number(problem)
        return os.strerror(number if number in DISK else errno.ENOSPC)
    if shortage == "files":
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return f"{os.strerror(errno.EMFILE)}: this process may have {soft} (ulimit -n)"
    return os.strerror(errno.ENOMEM)
