"""Fixtures of the session tests: a toy lake, a directory of cuts, and sessions that are closed at the end."""

import gc
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path

import psutil
import pytest

from pitlake.session import Limits, Session
from pitlake.session.sealed import launcher
from pitlake.session.visible.cut_cache import CutCache
from tests.processes import running
from tests.session.toylake import CATALOGUE, T, ToyLake
from tests.sessions import open_at

Open = Callable[..., Session]


def once_it_runs(session: Session, act: Callable[[], object]) -> threading.Thread:
    """Call `act` in another thread as soon as the process of a sealed session runs its next query."""
    process = psutil.Process(session._backend.pid)
    before = process.cpu_times()

    def work() -> None:
        with suppress(psutil.NoSuchProcess):
            while process.cpu_times() == before:
                time.sleep(0.01)
        act()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


@pytest.fixture
def lake(tmp_path: Path) -> ToyLake:
    return ToyLake(tmp_path / "lake")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "boundary"


@pytest.fixture(scope="session")
def cut_cache(tmp_path_factory: pytest.TempPathFactory) -> CutCache:
    return CutCache(tmp_path_factory.mktemp("cuts") / "boundary", few=2)  # so that small lakes are cut in both ways


@pytest.fixture
def ask_of(cut_cache: CutCache) -> Iterable[Open]:
    """A function that opens sessions on any toy lake, by default as of T. They are closed at the end."""
    handle: list[Session] = []

    def open_it(lake: ToyLake, as_of: datetime | None = T, **changes: object) -> Session:
        settings = {"catalogue": CATALOGUE, "cut_cache": cut_cache, "limits": Limits(seconds=30)} | changes
        session = open_at(lake.snapshot, as_of, **settings)
        handle.append(session)
        return session

    yield open_it
    for session in handle:
        session.close()


@pytest.fixture
def ask(lake: ToyLake, ask_of: Open) -> Open:
    """A function that opens sessions on the toy lake."""
    return partial(ask_of, lake)


@pytest.fixture
def leftovers() -> Callable[[], tuple[int, frozenset[str]]]:
    """A function that returns the number of running session processes, and the open descriptors of this process.

    Threads of earlier tests may still close descriptors, so tests should only check that there are no new ones.
    """

    def count() -> tuple[int, frozenset[str]]:
        gc.collect()  # otherwise objects of earlier tests could be freed between two counts
        zygote = launcher._zygote
        children = psutil.Process(zygote.process.pid).children() if zygote else []
        return len(running(children)), frozenset(_descriptors())

    return count


def _descriptors() -> Iterator[str]:
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the descriptor used for listing this folder
            yield f"{entry.name} {entry.readlink()}"
