"""Fixtures of the sample world: generated once, and on a server of each kind as the story changed it."""

import pytest

from sample.graph_admin import GraphAdmin
from sample.world import parts as parts_of_world
from tests.pipelines.conftest import story, world

__all__ = ["story", "world"]


@pytest.fixture(scope="session")
def parts():
    return list(parts_of_world())


@pytest.fixture(scope="session")
def nodes(parts):
    """The nodes of the whole world: label -> id -> properties."""
    result = {}
    for part in parts:
        for label, nodes in part.graph.nodes.items():
            result.setdefault(label, {}).update(nodes)
    return result


@pytest.fixture(scope="session")
def edges(parts):
    """The edges of the whole world, by kind."""
    result = {}
    for part in parts:
        for kind, edges in part.graph.edges.items():
            result.setdefault(kind, []).extend(edges)
    return result


@pytest.fixture(scope="module")
def admin(world):
    """An admin connection to the story's world, which was first loaded and then changed."""
    with GraphAdmin(world) as admin:
        yield admin
