"""Fixtures shared by the pipeline tests: Dagster materialises the toy asset into a separate lake."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from assets.factory import graph_asset
from local_servers.server import GraphServer
from pipelines.partitions import DAYS
from resources.graph.open import graph_server
from resources.lake import LakeResource
from resources.settings import ExtractionSettings
from tests.graph_servers import _require_neo4j as require_neo4j
from tests.shared import shared_folder
from tests.story import Story, once
from tests.toys import TOY, ToyGraph, ToyResource


@pytest.fixture
def toy() -> ToyGraph:
    ToyResource.toy = ToyGraph()
    return ToyResource.toy


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture
def materialise(toy, lake, instance):
    """A function that materialises the toy asset for a range of days."""

    def run(first: str, last: str, extractor=TOY, lag: int | None = None) -> dg.ExecuteInProcessResult:
        return dg.materialize(
            [graph_asset(extractor, DAYS)],
            instance=instance,
            resources={
                "graph": ToyResource(),
                "lake": LakeResource(root=str(lake.root)),
                "settings": ExtractionSettings(publication_lag_minutes=lag),
            },
            tags={"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last},
            raise_on_error=False,
        )

    return run


@pytest.fixture(scope="session")
def root() -> Path:
    return Path(__file__).resolve().parents[2]


TOLD_ON = [
    pytest.param("embedded", marks=[pytest.mark.long, pytest.mark.xdist_group("story on embedded")]),
    pytest.param("neo4j", marks=[pytest.mark.long, pytest.mark.xdist_group("story on neo4j")]),
]


@pytest.fixture(scope="session", params=TOLD_ON)
def story(request, tmp_path_factory) -> Story:
    if request.param == "neo4j":
        require_neo4j()
    return once(shared_folder(tmp_path_factory) / "story", request.param)


@pytest.fixture(scope="session")
def world(story) -> Iterator[GraphServer]:
    """The server with the story's world in its final state, for the whole session."""
    with graph_server(story.settings) as server:
        yield server
