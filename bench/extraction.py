"""The cost of reading the graph: rows per second through our connection, and up to staged rows, relative to the bare
driver; and the CPU time of this process from the graph to published rows. The graph is the sample world on the embedded
server in `.pitlake/bench`, loaded once. The bare driver runs the same query and drops every record.
"""

import contextlib
import gc
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timezone
from pathlib import Path

import neo4j

from assets.extraction import Extractor, RunFacts
from assets.graph import all_extractors
from assets.reading import collector_paused, extract
from bench.figures import Figure, figure, paired
from checks.expectations import expected
from local_servers.server import GraphServer
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.stage import StagedGap
from resources.graph.graph import FETCH_SIZE, Graph
from resources.graph.open import GraphSettings, graph_server
from sample.graph_admin import GraphAdmin
from sample.load import load_world
from tests.partitions import run_partitions

HOME = Path(".pitlake") / "bench"
FIRST, LAST = date(2023, 1, 1), date(2025, 6, 30)
DAYS = tuple(date.fromordinal(day) for day in range(FIRST.toordinal(), LAST.toordinal() + 1))
OBSERVED = datetime(2026, 1, 1, tzinfo=timezone.utc)
WHOLE = {"lo": FIRST.isoformat(), "hi": "2025-07-01"}
MEASURED = ("prices", "xbrl_facts", "event_returns", "report_sections")
PUBLISHED = {"reports": "≤ 6.7", "news": "≤ 5.4"}
ROUNDS = 5
AIM = "≥ 0.85"


@contextlib.contextmanager
def sample_server(scale: int = 1) -> Iterator[GraphServer]:
    """Run the embedded server over the sample world at a scale. The first run loads the world."""
    root = HOME / f"x{scale}"
    with graph_server(GraphSettings(root=root)) as server:
        if not (root / "loaded").exists():
            with GraphAdmin(server) as admin:
                admin.wipe()
                load_world(admin, scale)
            (root / "loaded").touch()
        yield server


class NoStage:
    """A stage that stores nothing, so that the measurement ends before the lake."""

    def add(self, day: date | None, rows: object = None, gaps: Iterable[StagedGap] = (), *, extracted: int) -> None:
        """Drop the rows and consume the gaps."""
        for _ in gaps:
            pass


def bare(server: GraphServer, cypher: str) -> int:
    """Stream a query with the bare driver, drop every record, and return the number of rows."""
    with (
        neo4j.GraphDatabase.driver(server.uri, auth=server.reader_auth) as driver,
        driver.session(
            database=server.database, fetch_size=FETCH_SIZE, default_access_mode=neo4j.READ_ACCESS
        ) as session,
    ):
        return sum(1 for _ in session.run(cypher, WHOLE))


def ours(graph: Graph, cypher: str) -> int:
    """Stream the same query through the connection of a run, which proves that it is read-only."""
    with collector_paused():
        return sum(len(records) for records in graph.stream(cypher, WHOLE))


def staged(graph: Graph, extractor: Extractor) -> None:
    """Stream records, and date, normalise and settle them into Arrow tables for the stage."""
    extract(extractor, DAYS, graph, NoStage(), RunFacts(observed_at=OBSERVED), lambda: OBSERVED)


def published(graph: Graph, name: str) -> Figure:
    """Publish all days of a dataset to an empty lake, including the checks of its expectations. Return the median CPU
    seconds per 100,000 records, without the first run, which imports the checks.
    """
    taken = []
    for _ in range(1 + ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            gc.collect()
            started = time.process_time()
            arguments = {"run_id": "bench", "observed_at": OBSERVED, "audits": (expected,)}
            done = run_partitions(all_extractors()[name], DAYS, graph, Lake(folder), **arguments)
            taken.append(time.process_time() - started)
    met = done.total.extracted
    cost = 100_000 * statistics.median(taken[1:]) / met
    what, against = f"{name}: graph to published, CPU a 100,000 rows", f"{met:,} records"
    return figure(what, cost, "s", baseline=against, aim=PUBLISHED[name])


def run(scale: int = 10) -> list[Figure]:
    """Return both ratios for the datasets with the most rows, and the CPU time of publishing those in PUBLISHED."""
    figures: list[Figure] = []
    with sample_server(scale) as server, Graph(server.uri, server.reader_auth, server.database) as graph:
        for name in MEASURED:
            extractor = all_extractors()[name]
            cypher = extractor.windows[0]
            rows = bare(server, cypher)
            mine, _, ratio = paired(lambda q=cypher: ours(graph, q), lambda q=cypher: bare(server, q), ROUNDS)
            against = f"bare driver, {rows:,} rows"
            figures.append(
                figure(f"{name}: graph to records", rows / mine, "rows/s", baseline=against, ratio=1 / ratio, aim=AIM)
            )
            if len(extractor.windows) == 1 or name == "xbrl_facts":
                mine, _, ratio = paired(lambda e=extractor: staged(graph, e), lambda q=cypher: bare(server, q), 3)
                what = f"{name}: graph to staged rows"
                figures.append(figure(what, rows / mine, "rows/s", baseline=against, ratio=1 / ratio))
        figures += [published(graph, name) for name in PUBLISHED]
    return figures
