"""A Postgres server."""

import pytest

from resources.postgres import postgres, programs
from tests.shared import postgres_folder


@pytest.fixture(scope="session")
def server():
    """A running server; None if Postgres is not installed."""
    if programs() is None:
        yield None
        return
    with postgres_folder() as place, postgres(place / "data") as running:
        yield running
