"""Fixtures of the session tests: a toy lake, a directory of cuts, and a door that closes behind itself."""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from pathlib import Path

import psutil
import pytest

from pitlake.session import Limits, Session, launcher, open_session
from pitlake.session.boundary import Boundary
from tests.session.toylake import CATALOGUE, T, ToyLake

Open = Callable[..., Session]


@pytest.fixture
def lake(tmp_path: Path) -> ToyLake:
    return ToyLake(tmp_path / "lake")


@pytest.fixture(scope="session")
def boundary(tmp_path_factory: pytest.TempPathFactory) -> Boundary:
    return Boundary(tmp_path_factory.mktemp("cuts") / "boundary")


@pytest.fixture
def ask_of(boundary: Boundary) -> Iterable[Open]:
    """Opens sessions on any toy lake, as of T unless told otherwise, and closes them."""
    opened: list[Session] = []

    def open_it(lake: ToyLake, as_of: datetime | None = T, **changes: object) -> Session:
        settings = {"catalogue": CATALOGUE, "boundary": boundary, "limits": Limits(seconds=30)} | changes
        session = open_session(lake.snapshot, as_of, **settings)
        opened.append(session)
        return session

    yield open_it
    for session in opened:
        session.close()


@pytest.fixture
def ask(lake: ToyLake, ask_of: Open) -> Open:
    """Opens sessions on the toy lake."""
    return partial(ask_of, lake)


@pytest.fixture
def leftovers() -> Callable[[], tuple[int, int]]:
    """Counts what sessions of this process have left behind: their processes, and our open descriptors."""

    def count() -> tuple[int, int]:
        zygote = launcher._zygote
        children = psutil.Process(zygote.process.pid).children() if zygote else []
        return len(children), len(list(Path("/proc/self/fd").iterdir()))

    return count
