"""Set-up that all test processes of a run share: the first one that needs it builds it, the others wait."""

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of this run, the same for all of its test processes."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def build_once(folder: Path, build: Callable[[Path], object]) -> Path:
    """Return a folder with what `build` puts there; the first process that asks for it calls `build`."""
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.with_suffix(".built").exists():
            build(folder)
            folder.with_suffix(".built").touch()
    return folder


@contextmanager
def postgres_folder() -> Iterator[Path]:
    """A folder that the user of a Postgres server can enter. Any pytest that starts closes pytest's own folders."""
    with tempfile.TemporaryDirectory(prefix="pitlake-postgres-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
