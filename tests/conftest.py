"""The fixtures of all tests, and settings for all runs."""

import gc
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, settings

from tests.graph_servers import graph, graph_admin, graph_db, graph_server
from tests.lanes import pytest_configure
from tests.shared import build_once, shared_folder

__all__ = ["graph", "graph_admin", "graph_db", "graph_server", "pytest_configure"]

# Tests start hundreds of processes. As in `make`, the bytecode that the first one compiles is kept for the others.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

MEMORY, ROOM = "/dev/shm", 6 << 30


def has_room() -> bool:
    """Return whether /dev/shm is writable, allows execution and has room for the tests' files."""
    usable = os.access(MEMORY, os.W_OK) and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
    return usable and min(shutil.disk_usage(MEMORY).free, psutil.virtual_memory().available) > ROOM


# Tests create hundreds of thousands of small files, which takes ten times as long on a disk.
if "TMPDIR" not in os.environ and has_room():
    os.environ["TMPDIR"] = tempfile.tempdir = MEMORY

# Background jobs of a shell ignore SIGINT. Dagster handles SIGTERM like SIGINT, and children inherit the handlers.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A property test must never fail because a busy machine is slow.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Exclude all imported and collected objects from garbage collection, because they stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure():
    """Unfreeze all objects, because otherwise native libraries report leaks at exit."""
    gc.unfreeze()


@pytest.fixture
def lake(tmp_path):
    from pitlake.lake import Lake

    return Lake(tmp_path / "lake")


@pytest.fixture(scope="session")
def market_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lake of `tests.doors.conftest.build`, shared by a whole run. Tests that publish or vacuum copy it."""
    from tests.doors.conftest import build

    return build_once(shared_folder(tmp_path_factory) / "market", lambda root: build(root / "lake")) / "lake"
