"""The cost of Dagster: 250 days of every dataset as one run, against the same work without Dagster. Both read the
sample world of `bench.extraction` and publish into an empty lake. Dagster stores its events as `make ui` does, in a
separate home.
"""

import os
import shutil
import tempfile
from datetime import date, timedelta
from pathlib import Path
from unittest.mock import patch

import dagster as dg

from assets.factory import graph_asset
from assets.graph import all_extractors
from bench.extraction import sample_server
from bench.figures import Figure, figure, paired
from checks.expectations import expected
from local_servers.server import GraphServer
from pipelines.partitions import DAYS
from pipelines.serve import FAST_EVENTS
from pitlake.lake.lake import Lake
from resources.graph.graph import Graph
from resources.graph.resource import GraphResource
from resources.lake import LakeResource
from resources.settings import ExtractionSettings
from tests.partitions import run_partitions

FIRST = date(2024, 1, 1)
DAY_COUNT = 250
ROUNDS = 3
AIM = "≤ 1.6"
SETTINGS = Path(__file__).resolve().parents[1] / "dagster.yaml"


def without_dagster(graph: Graph, work: Path) -> None:
    """Publish 250 days of every dataset, one commit per dataset."""
    lake = Lake(fresh(work / "plain"))
    days = [FIRST + timedelta(days=offset) for offset in range(DAY_COUNT)]
    for extractor in all_extractors().values():
        run_partitions(extractor, days, graph, lake, run_id="bench", audits=(expected,))


def with_dagster(server: GraphServer, instance: dg.DagsterInstance, work: Path) -> None:
    """Publish the same days as one Dagster run over a range. Raises RuntimeError if the run fails."""
    user, password = server.reader_auth or ("", "")
    result = dg.materialize(
        [graph_asset(extractor, DAYS) for extractor in all_extractors().values()],
        instance=instance,
        resources={
            "graph": GraphResource(uri=server.uri, username=user, password=password, database=server.database),
            "lake": LakeResource(root=str(fresh(work / "dagster"))),
            "settings": ExtractionSettings(),
        },
        tags={
            "dagster/asset_partition_range_start": FIRST.isoformat(),
            "dagster/asset_partition_range_end": (FIRST + timedelta(days=DAY_COUNT - 1)).isoformat(),
        },
        run_config={"loggers": {"console": {"config": {"log_level": "ERROR"}}}},
    )
    if not result.success:
        raise RuntimeError("the backfill failed; what it published does not count")


def fresh(path: Path) -> Path:
    """Return an empty folder."""
    shutil.rmtree(path, ignore_errors=True)
    return path


def run(scale: int = 10) -> list[Figure]:
    """Return the ratio, and Dagster's cost for one day of one dataset."""
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict(os.environ, FAST_EVENTS | {"DAGSTER_HOME": folder}),
        sample_server(scale) as server,
        Graph(server.uri, server.reader_auth, server.database) as graph,
    ):
        work = Path(folder)
        shutil.copy(SETTINGS, work)
        with dg.DagsterInstance.get() as instance:
            mine, plain, ratio = paired(
                lambda: with_dagster(server, instance, work), lambda: without_dagster(graph, work), ROUNDS
            )
    partitions = DAY_COUNT * len(all_extractors())
    return [
        figure(
            f"{DAY_COUNT} days of {len(all_extractors())} datasets as one Dagster run",
            mine,
            "s",
            baseline=f"run_partitions, {plain:.1f} s",
            ratio=ratio,
            aim=AIM,
        ),
        figure("Dagster's own cost per day and dataset", 1000 * (mine - plain) / partitions, "ms"),
    ]
