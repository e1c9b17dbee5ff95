"""What every test may ask for by name, and the order test processes take tests in."""

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.graph_servers import graph, graph_admin, graph_db, graph_server

__all__ = ["graph", "graph_admin", "graph_db", "graph_server"]

# A property is held by its examples, not by how fast a busy machine makes them.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Slow tests first where processes share them out, so that none is left with a long one at the end."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: item.get_closest_marker("slow") is None)
