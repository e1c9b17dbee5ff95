"""As-of panels on the computed lake: the value of every concept known at each event, from the session's files. The
baselines are DuckDB's ASOF join on a native table, polars' join_asof on frames in memory, and Feast's historical join
of one concept if $PITLAKE_BENCH_FEAST names a Python that has Feast.
"""

import os
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from bench.figures import Figure, figure, paired, processor
from pitlake.session import Session

os.environ.setdefault("POLARS_MAX_THREADS", "1")

FEAST = "PITLAKE_BENCH_FEAST"
FEAST_EVENTS = 10_000
ROUNDS = 3
# A filing states a concept for several periods; the question asks for the greatest value, so that only one answer is
# right. Values are whole numbers, so their sum is the same in any order.
PANEL = (
    "WITH stated AS (SELECT ticker, concept, available_at, max(value_number) AS value_number FROM facts GROUP BY ALL) "
    "SELECT count(*), sum(value_number) FROM (FROM events, (SELECT DISTINCT concept FROM stated)) AS events "
    "ASOF JOIN stated ON stated.ticker = events.ticker AND stated.concept = events.concept "
    "AND events.at >= stated.available_at"
)
ONE_CONCEPT = (
    f"SELECT events.ticker, events.at, value_number FROM (FROM events LIMIT {FEAST_EVENTS}) AS events ASOF LEFT JOIN "
    "(FROM lake.xbrl_facts WHERE concept = 'us-gaap:Concept7') AS facts "
    "ON facts.ticker = events.ticker AND events.at >= facts.available_at"
)


def panel(session: Session, paths: list[str], seen: str, events: pa.Table) -> list[Figure]:
    """Return the session's time ÷ the others'. paths: the files of the facts; seen: the filter up to T; events: the
    events, loaded into DuckDB too.
    """
    clock = processor(session._backend.pid)
    ours = partial(_asked, session, PANEL.replace("facts", "lake.xbrl_facts"))
    with closing(_native(paths, seen, events)) as native:
        _agree(answer := ours().to_pylist(), native.sql(PANEL).to_arrow_table().to_pylist(), "DuckDB")
        mine, other, ratio = paired(ours, lambda: native.sql(PANEL).fetchall(), ROUNDS, clock)
        figures = [_figure(mine, other, ratio, "DuckDB ASOF on a native table")]
        facts = native.sql("FROM facts").to_arrow_table()
        concept_facts = native.sql(
            "SELECT * EXCLUDE (concept) FROM facts WHERE concept = 'us-gaap:Concept7'"
        ).to_arrow_table()
    theirs = _polars(facts, events)
    _agree(answer, theirs().to_pylist(), "polars")
    mine, other, ratio = paired(ours, theirs, ROUNDS, clock)
    figures.append(_figure(mine, other, ratio, "polars join_asof on frames in memory"))
    return figures + feast(session, concept_facts, events)


def feast(session: Session, facts: pa.Table, events: pa.Table) -> list[Figure]:
    """Return the ratio for one concept as of fewer events: the session over all facts ÷ Feast over only that concept's
    facts.
    """
    if not (python := os.environ.get(FEAST)):
        return []
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(facts, Path(folder) / "facts.parquet")
        event_frame = events.slice(0, FEAST_EVENTS).rename_columns(["ticker", "event_timestamp"])
        pq.write_table(event_frame, Path(folder) / "events.parquet")
        script = Path(__file__).with_name("feast_join.py")
        # -P keeps this folder's platform.py from hiding the standard library's.
        ran = subprocess.run([python, "-P", str(script), folder], capture_output=True, text=True, check=True)
    theirs = min(float(line.split()[0]) for line in ran.stdout.splitlines())
    mine, _, _ = paired(partial(_asked, session, ONE_CONCEPT), int, ROUNDS)
    what = f"one concept at {min(len(events), FEAST_EVENTS):,} events"
    return [figure(what, 1000 * mine, "ms", baseline=f"Feast, {1000 * theirs:,.0f} ms", ratio=mine / theirs)]


def _native(paths: list[str], seen: str, events: pa.Table) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:", config={"threads": "1"})
    connection.execute("SET TimeZone='UTC'")
    connection.register("given", events)
    connection.execute("CREATE TABLE events AS FROM given")
    connection.execute(
        "CREATE TABLE facts AS SELECT ticker, concept, available_at, value_number "
        f"FROM read_parquet({paths!r}, hive_partitioning=false) WHERE {seen}"
    )
    return connection


def _polars(facts: pa.Table, events: pa.Table) -> Callable[[], pa.Table]:
    import polars as pl

    facts_read = pl.DataFrame(facts)
    left = pl.DataFrame(events).rename({"at": "available_at"})
    concepts = facts_read.select("concept").unique()

    def join() -> pa.Table:
        values_at = facts_read.group_by("ticker", "concept", "available_at").agg(pl.col("value_number").max())
        right = values_at.sort("available_at")
        questions = left.join(concepts, how="cross").sort("available_at")
        joined = questions.join_asof(right, on="available_at", by=["ticker", "concept"], check_sortedness=False)
        return joined.select(pl.col("value_number").count(), pl.col("value_number").sum().alias("sum")).to_arrow()

    return join


def _agree(ours: list[dict[str, object]], theirs: list[dict[str, object]], who: str) -> None:
    """Check that both sides gave the same answer. Raises AssertionError."""
    mine, other = (tuple(rows[0].values()) for rows in (ours, theirs))
    assert mine == other, f"the session answers {mine}, {who} {other}"


def _asked(session: Session, sql: str) -> pa.Table:
    return session.sql(sql).arrow()


def _figure(mine: float, other: float, ratio: float, against: str) -> Figure:
    baseline = f"{against}, {1000 * other:,.0f} ms"
    return figure(
        "panel, every concept at every event", 1000 * mine, "ms of CPU", baseline=baseline, ratio=ratio, aim="≤ 1.1"
    )
