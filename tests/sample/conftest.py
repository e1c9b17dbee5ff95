"""The sample world, generated once, and loaded once into an embedded server."""

import pytest

from resources.graph.admin import GraphAdmin
from resources.graph.embedded import embedded_graph
from sample import world
from sample.load import load_world


@pytest.fixture(scope="session")
def parts():
    return list(world.parts())


@pytest.fixture(scope="session")
def nodes(parts):
    """Label -> id -> properties, of the whole world."""
    found = {}
    for part in parts:
        for label, nodes in part.graph.nodes.items():
            found.setdefault(label, {}).update(nodes)
    return found


@pytest.fixture(scope="session")
def edges(parts):
    """Kind -> edges, of the whole world."""
    found = {}
    for part in parts:
        for kind, edges in part.graph.edges.items():
            found.setdefault(kind, []).extend(edges)
    return found


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with embedded_graph(tmp_path_factory.mktemp("graph")) as running:
        yield running


@pytest.fixture(scope="session")
def loaded(server):
    """An admin over the loaded world, what was written, and the progress that was told."""
    told = []
    with GraphAdmin(server) as admin:
        yield admin, load_world(admin, progress=lambda *step: told.append(step)), told
