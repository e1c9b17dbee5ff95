"""The sample world, generated once, and loaded once into a server of each kind."""

import pytest

from sample import world
from sample.graph_admin import GraphAdmin
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


@pytest.fixture(scope="module")
def loaded(graph_server):
    """An admin over the loaded world, what was written, and the progress that was told."""
    told = []
    own = graph_server.kind == "arcadedb"
    with GraphAdmin(graph_server.with_database("sample") if own else graph_server) as admin:
        make_empty, leave = (admin.create_database, admin.drop_database) if own else (admin.wipe, admin.wipe)
        make_empty()
        yield admin, load_world(admin, progress=lambda *step: told.append(step)), told
        leave()
