"""A Postgres server, and the location of a lake that does not exist yet."""

import pytest

from pitlake.lake import Lake
from resources.postgres import postgres, programs


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A running server, None where none is installed."""
    if programs() is None:
        yield None
        return
    place = tmp_path_factory.mktemp("postgres")
    for folder in (place, *place.parents[:3]):
        folder.chmod(0o755)  # the server's user must be able to enter it
    with postgres(place / "data") as running:
        yield running


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path / "lake")
