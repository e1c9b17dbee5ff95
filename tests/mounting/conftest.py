"""A Postgres server, and the location of a lake that does not exist yet."""

import pytest

from pitlake.lake import Lake
from resources.postgres import postgres, programs
from tests.shared import postgres_folder


@pytest.fixture(scope="session")
def server():
    """A running server, None where none is installed."""
    if programs() is None:
        yield None
        return
    with postgres_folder() as place, postgres(place / "data") as running:
        yield running


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path / "lake")
