"""Set-up shared by all test processes of a run. The first process that needs it builds it, and the others wait."""

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of this run, which is the same for all of its test processes."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def build_once(folder: Path, build: Callable[[Path], object]) -> Path:
    """Return a folder after the first process that needs it has filled it with `build`."""
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.with_suffix(".built").exists():
            build(folder)
            folder.with_suffix(".built").touch()
    return folder


@contextmanager
def postgres_folder() -> Iterator[Path]:
    """Yield a folder that a Postgres server's user can enter, unlike pytest's folders, which every pytest closes."""
    with tempfile.TemporaryDirectory(prefix="pitlake-postgres-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
