"""Reports files of a lake that this user may not read or write as denied, rather than as lost or damaged.

Libraries report a folder that this user may not enter as missing or damaged. All failures below a lake's root therefore
pass through `translated`, which first checks the files' permissions.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pitlake.errors import (
    ClockWentBack,
    LakeConflict,
    LakeError,
    LakeFault,
    LakeNotFound,
    MachineExhausted,
    PastChanged,
)

FOLDERS = ("_lake", "tables", "gaps", "superseded")
"""The files needed to read a lake. A stage may be unreadable, because only its own run may read it."""
DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
_READ_ONLY = "Read-only file system"
_DENIED_SAID = ("Permission denied", "os error 13", "os error 1)", _READ_ONLY)
_FAULTY: tuple[type[Exception], ...] = (OSError, LakeError)
_FAULTY_OF = {
    "duckdb": "Error",
    "pyarrow": "ArrowException",
    "deltalake.exceptions": "DeltaError",
    "obstore.exceptions": "BaseError",
}
_CLEAR = (LakeFault, LakeConflict, LakeNotFound, ClockWentBack, MachineExhausted, PastChanged, FileNotFoundError,
          FileExistsError)  # fmt: skip


@contextmanager
def translated(root: Path) -> Iterator[None]:
    """Raise LakeFault for an error below the root that was caused by a permission."""
    try:
        yield
    except _CLEAR:
        raise
    except (*_FAULTY, *_errors_of_libraries()) as error:
        fault = cause(error, root)
        if fault is None:
            raise
        raise fault from error


def _errors_of_libraries() -> tuple[type[Exception], ...]:
    # Many commands never import these libraries. Only an imported library can raise an error.
    return tuple(getattr(sys.modules[name], error) for name, error in _FAULTY_OF.items() if name in sys.modules)


def cause(error: Exception, root: Path) -> LakeFault | None:
    """Return the fault behind an error if this user is denied access to a path; None for any other error."""
    number, message = getattr(error, "errno", None), f"{error} {error.__cause__}"
    if number is not None and number not in DENIED:
        return None
    denied = unreadable(root)
    if denied is None and (number in DENIED or any(text in message for text in _DENIED_SAID)):
        # A folder above the error's file that may not be written to; without a file, the first such folder of the lake.
        file = getattr(error, "filename", None)
        tops = (root, root / "_staging", *(root / name for name in FOLDERS))
        every = (path for top in tops for path in ((top,) if top == root else _below(top)) if path.is_dir())
        denied = next((path for path in (Path(file).parents if file else every) if not _may(path, os.W_OK)), root)
    if denied is None:
        return None
    return LakeFault("read_only" if number == errno.EROFS or _READ_ONLY in message else "permission", denied)


def unreadable(root: Path) -> Path | None:
    """Return the first denied path, from the file system's root down to everything needed to read the lake."""
    for folder in reversed(root.parents):
        if not _may(folder, os.X_OK):
            return folder
    for top in (root, *(root / name for name in FOLDERS)):
        for path in _below(top) if top != root else (root,):
            if not _may(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
                return path
    return None


def _below(top: Path) -> Iterator[Path]:
    """Yield a path and everything below it, each folder before its contents."""
    if _may(top, os.F_OK):
        yield top
    for parent, folders, files in os.walk(top):
        yield from (Path(parent, name) for name in (*sorted(folders), *sorted(files)))


def _may(path: Path, mode: int) -> bool:
    """Return whether this process may access a path as its current user. A missing path denies nothing."""
    effective = os.access in os.supports_effective_ids
    there = os.access(path, os.F_OK, effective_ids=effective)
    return os.access(path, mode, effective_ids=effective) if there else mode != os.F_OK
