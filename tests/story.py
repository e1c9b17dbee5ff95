"""The story of the sample world on a real graph server, run once per session and kind of server: load, extract
everything, extract everything again, change the world, extract the changed datasets. Tests read the result.

On Neo4j, which `make long` uses, Dagster runs the extractions. On the embedded server it runs only one changed
dataset, because Dagster adds about 20 ms per day and dataset. Test processes share a story: the first one runs it,
and the others wait.
"""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from assets.factory import graph_asset
from assets.graph import all_extractors
from pipelines.partitions import DAYS
from pitlake import clock
from pitlake.lake.lake import Lake
from resources.graph.graph import Graph
from resources.graph.open import GraphSettings, graph_server, open_graph
from resources.graph.resource import GraphResource
from resources.lake import LakeResource
from resources.settings import ExtractionSettings
from sample.graph_admin import GraphAdmin
from sample.load import load_world
from tests.evolve import evolve
from tests.partitions import run_partitions
from tests.shared import build_once

FIRST, LAST = date(2023, 1, 1), date(2025, 6, 30)
WHOLE = [FIRST + timedelta(days=offset) for offset in range((LAST - FIRST).days + 1)]
TOUCHED = ("news", "reports", "dividends", "companies", "xbrl_facts")

# The numbers of source records, counted independently of extraction. $first: the first day.
COUNTS = {
    "calendar": "MATCH (d:Date) RETURN count(d) + sum(CASE d.date WHEN '2025-01-08' THEN 1 ELSE 0 END) AS n",
    "companies": "MATCH (c:Company) RETURN count(c) AS n",
    "dividends": "MATCH (v:Dividend) RETURN count(v) AS n",
    "embeddings": """
        MATCH (n) WHERE (n:News OR n:QAExchange) AND n.embedding IS NOT NULL AND NOT
            (coalesce(n.created, '') STARTS WITH '202' AND n.created < $first AND coalesce(n.updated, '') < $first)
        RETURN count(n) AS n""",
    "event_returns": """
        MATCH (n)-[i:INFLUENCES|PRIMARY_FILER|REFERENCED_IN]->()
        WHERE (n:News OR n:Report OR n:Transcript)
            AND NOT (coalesce(n.created, '') STARTS WITH '202' AND n.created < $first)
        UNWIND keys(i) AS key
        WITH key WHERE key =~ '(hourly|session|daily)_(stock|industry|sector|macro)'
        RETURN count(key) AS n""",
    "exhibits": "MATCH (s:ExhibitContent) RETURN count(s) AS n",
    "filing_texts": "MATCH (s:FilingTextContent) RETURN count(s) AS n",
    "financial_statements": "MATCH (s:FinancialStatementContent) RETURN count(s) AS n",
    "news": """
        MATCH (n:News) WHERE NOT
            (coalesce(n.created, '') STARTS WITH '202' AND n.created < $first AND coalesce(n.updated, '') < $first)
        RETURN count(n) AS n""",
    "prepared_remarks": "MATCH (p:PreparedRemark) RETURN count(p) AS n",
    "prices": "MATCH (:Date)-[p:HAS_PRICE]->() RETURN count(p) AS n",
    "qa_exchanges": "MATCH (p:QAExchange) RETURN count(p) AS n",
    "report_sections": "MATCH (s:ExtractedSectionContent) RETURN count(s) AS n",
    "reports": "MATCH (r:Report) RETURN count(r) AS n",
    "splits": "MATCH (v:Split) RETURN count(v) AS n",
    "transcripts": "MATCH (t:Transcript) RETURN count(t) AS n",
    "xbrl_facts": """
        MATCH (f:Fact) RETURN count(f) AS n
        UNION ALL
        MATCH (r:Report) WHERE r.formType IN ['10-K', '10-K/A', '10-Q', '10-Q/A']
            AND NOT EXISTS { (r)-[:HAS_XBRL]->(:XBRLNode)<-[:REPORTS]-(:Fact) }
        RETURN count(r) AS n""",
}


@dataclass(frozen=True)
class Story:
    """The result of the story. Versions are the lake's after each run. Instants are ISO strings.

    days: the days that Dagster regards as materialised, by dataset. written: the nodes and edges counted by loading.
    last_part: the last progress step of loading.
    """

    kind: str
    root: str
    first_began: str
    first_version: int
    days: dict[str, list[str]]
    written: dict[str, int]
    last_part: list[int | str]
    second_version: int
    second_counts: dict[str, dict[str, list[int]]]
    source_records: dict[str, int]
    third_began: str
    third_version: int

    @property
    def lake(self) -> Lake:
        """Return the lake into which all runs published."""
        return Lake(Path(self.root) / "lake")

    @property
    def settings(self) -> GraphSettings:
        """Return the settings of the graph with the world in its final state."""
        return GraphSettings(local=self.kind, root=Path(self.root) / "graph")

    @contextlib.contextmanager
    def graph(self) -> Iterator[Graph]:
        """Open a connection to the world in its final state."""
        with open_graph(self.settings) as door:
            yield door


def once(folder: Path, kind: str) -> Story:
    """Return the story of a kind of server. The first test process that calls this runs it."""

    def build(root: Path) -> None:
        (root / "story.json").write_text(json.dumps(asdict(tell(root, kind))))

    return Story(**json.loads((build_once(folder / kind, build) / "story.json").read_text()))


def tell(root: Path, kind: str) -> Story:
    """Run the whole story, which takes a minute or two."""
    lake = Lake(root / "lake")
    settings = GraphSettings(local=kind, root=root / "graph")
    with graph_server(settings) as server, GraphAdmin(server) as admin, open_graph(settings) as door:
        steps: list[list[int | str]] = []
        output = load_world(admin, progress=lambda *step: steps.append([*step]))
        first_began = clock.now()
        days = materialise(root, kind, list(all_extractors())) if kind == "neo4j" else {}
        if not days:
            for name in all_extractors():
                _publish(name, door, lake)
        first_version = lake.head()
        again = {name: _publish(name, door, lake) for name in all_extractors()}
        second_version = lake.head()
        counted = {name: _count(door, cypher) for name, cypher in COUNTS.items()}
        evolve(admin)
        third_began = clock.now()
        booked = TOUCHED if kind == "neo4j" else TOUCHED[:1]
        days = materialise(root, kind, booked) | days
        for name in TOUCHED[len(booked) :]:
            _publish(name, door, lake)
    return Story(
        kind=kind,
        root=str(root),
        first_began=clock.iso(first_began),
        first_version=first_version,
        days=days,
        written=asdict(output),
        last_part=steps[-1],
        second_version=second_version,
        second_counts=again,
        source_records=counted,
        third_began=clock.iso(third_began),
        third_version=lake.head(),
    )


def materialise(root: Path, kind: str, names: list[str] | tuple[str, ...]) -> dict[str, list[str]]:
    """Extract every day of these datasets in one Dagster run. Return the days that Dagster regards as materialised."""
    with pytest.MonkeyPatch.context() as patch, dg.DagsterInstance.ephemeral() as instance:
        patch.setenv("DAGSTER_EMIT_PARTITION_SUBSET_IN_PLANNED_EVENTS", "1")
        result = dg.materialize(
            [graph_asset(all_extractors()[name], DAYS) for name in names],
            instance=instance,
            resources={
                "graph": GraphResource(local=kind, root=str(root / "graph")),
                "lake": LakeResource(root=str(root / "lake")),
                "settings": ExtractionSettings(),
            },
            tags={
                "dagster/asset_partition_range_start": FIRST.isoformat(),
                "dagster/asset_partition_range_end": LAST.isoformat(),
            },
            run_config={"loggers": {"console": {"config": {"log_level": "ERROR"}}}},
        )
        assert result.success
        return {name: sorted(instance.get_materialized_partitions(dg.AssetKey(name))) for name in names}


def _publish(name: str, door: Graph, lake: Lake) -> dict[str, list[int]]:
    published = run_partitions(all_extractors()[name], WHOLE, door, lake, run_id="by-hand")
    return {day: list(vars(count).values()) for day, count in published.per_day.items()}


def _count(door: Graph, cypher: str) -> int:
    return sum(record["n"] for batch in door.stream(cypher, {"first": FIRST.isoformat()}) for record in batch)


def began(text: str) -> datetime:
    """Return an instant of the story."""
    return clock.instant(text)
