"""Queries and as-of panels on a computed lake, compared with what a user would have without it: DuckDB in this process
with hand-written filters, on files sorted by company and on native tables, and polars on frames in memory. All use one
thread, as sessions do. Costs are CPU time, which other load hardly affects. At full size there are 11 million rows:
2 of facts, 8.5 of bars, 0.5 of articles. The lake is in `.pitlake/bench` and is removed at the end.
"""

import math
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from bench import biglake
from bench.figures import Figure, figure, paired, processor
from bench.open import HOME, LIMITS, THREE, T
from pitlake.clock import iso
from pitlake.lake import Lake
from pitlake.session import Session, Viewpoint, open_session
from pitlake.session.sealed.launcher import warm
from pitlake.session.visible.cut_cache import CutCache

os.environ.setdefault("POLARS_MAX_THREADS", "1")

Connection = duckdb.DuckDBPyConnection
FULL = {"size": biglake.FULL, "events": 100_000}
ROUNDS = 9

KEY = "cik, concept, unit, period_type, period_start, period_end, dimensions, members"
SEEN = f"available_at <= TIMESTAMPTZ '{iso(T)}'"
BY_HAND = {
    "prices": f"(FROM prices WHERE {SEEN})",
    "news": f"(FROM news WHERE {SEEN} QUALIFY row_number() OVER (PARTITION BY id ORDER BY available_at DESC) = 1)",
    # The ticker is part of the key only so that DuckDB can apply a filter on it before the window.
    "facts": f"(FROM xbrl_facts WHERE {SEEN} QUALIFY row_number() OVER "
    f"(PARTITION BY {KEY}, ticker ORDER BY available_at DESC, accession_no DESC) = 1)",
}
# The queries, for a session (`{prices}` is a view) and by hand (`{prices}` contains the filter).
QUESTIONS = {
    "newest bar of one ticker": (
        "SELECT date, close FROM {prices} WHERE symbol = 'T00101' ORDER BY date DESC LIMIT 1",
        "≤ 25 ms",
    ),
    "all bars of one ticker": ("SELECT date, close FROM {prices} WHERE symbol = 'T00101' ORDER BY date", ""),
    "bars of 90 days of one ticker": (
        "SELECT date, close, volume FROM {prices} WHERE symbol = 'T00101' AND date > '2024-03-15'",
        "≤ 12 ms",
    ),
    "articles of 90 days of one ticker": (
        "SELECT id, title FROM {news} WHERE ticker = 'T00101' AND created > '2024-03-15'",
        "",
    ),
    "newest ten articles of one ticker": (
        "SELECT id, title FROM {news} WHERE ticker = 'T00101' ORDER BY available_at DESC, id LIMIT 10",
        "",
    ),
    "newest facts of one ticker": (
        "SELECT concept, period_end, value_number FROM {facts} WHERE ticker = 'T00101'",
        "≤ 20 ms",
    ),
    "cross-section, last bar of ten days": (
        """SELECT symbol, arg_max(close, available_at) AS close FROM {prices}
        WHERE available_at > TIMESTAMPTZ '2024-06-04' GROUP BY symbol""",
        "≤ 0.3",
    ),
    "newest bar of all tickers": (
        "SELECT symbol, arg_max(close, available_at) AS close FROM {prices} GROUP BY symbol",
        "≤ 180 ms",
    ),
    "facts of one concept × bars": (
        """SELECT symbol, count(*), sum(close), sum(value_number) FROM {prices} AS bars JOIN {facts} AS facts
        ON facts.ticker = bars.symbol AND facts.period_end = bars.date
        WHERE concept = 'us-gaap:Concept7' GROUP BY ALL""",
        "≤ 140 ms",
    ),
    "as-of join, events × bars": (
        """SELECT count(*), sum(close) FROM events ASOF JOIN {prices} AS bars
        ON bars.symbol = events.ticker AND events.at >= bars.available_at""",
        "≤ 1400 ms",
    ),
    "aggregate of four columns of all bars": (
        "SELECT avg(open), avg(close), sum(volume), max(high) FROM {prices}",
        "≤ 1.0",
    ),
    "newest revision of all facts": ("SELECT count(*), sum(value_number), max(period_end) FROM {facts}", "≤ 0.12"),
}
SHORT = {"prices": "prices", "news": "news", "facts": "xbrl_facts"}
# A filing states a concept for several periods. The query selects the greatest value, so that only one answer is
# right. Values are whole numbers, so their sum is the same in any order.
PANEL = (
    "WITH stated AS (SELECT ticker, concept, available_at, max(value_number) AS value_number FROM facts GROUP BY ALL) "
    "SELECT count(*), sum(value_number) FROM (FROM events, (SELECT DISTINCT concept FROM stated)) AS events "
    "ASOF JOIN stated ON stated.ticker = events.ticker AND stated.concept = events.concept "
    "AND events.at >= stated.available_at"
)


def run(size: dict[str, int] = biglake.SMALL, events: int = 10_000) -> list[Figure]:
    """Return the figures of every query and of the panel."""
    warm()
    home = HOME / f"peers-{size['facts']}"
    lake = biglake.build(home, **size)
    try:
        rng = random.Random(7)
        companies = round(size["facts"] / len(biglake.MONTHS) / biglake.FACTS_PER_COMPANY)
        first = datetime(2012, 1, 1, tzinfo=timezone.utc)
        seconds = int((T - first).total_seconds())
        tickers = [f"T{rng.randrange(companies):05d}" for _ in range(events)]
        moments = [first + timedelta(seconds=rng.randrange(seconds)) for _ in range(events)]
        event_times = pa.table({"ticker": tickers, "at": pa.array(moments, pa.timestamp("us", "UTC"))})
        with tempfile.TemporaryDirectory() as cuts, by_hand(lake, event_times) as (sorted_tables, native):
            at, cut_cache = Viewpoint(as_of=T, lake=lake), CutCache(Path(cuts) / "cuts")
            with open_session(at, datasets=THREE, limits=LIMITS, cut_cache=cut_cache) as session:
                session.load("events", event_times)
                paths = [file.path for file in lake.snapshot().files("xbrl_facts")]
                return [*questions(session, sorted_tables, native), *panel(session, paths, event_times)]
    finally:
        shutil.rmtree(home)


def questions(session: Session, sorted_tables: Connection, native: Connection) -> list[Figure]:
    """Return the CPU time of each query in a session, and its ratios to DuckDB on sorted files and on native tables
    with the same order.
    """
    figures, clock = [], processor(session._backend.pid)
    for what, (sql, aim) in QUESTIONS.items():
        ours = partial(_asked, session, sql.format(**SHORT))
        for where, tables, its_aim in (("sorted files", sorted_tables, aim), ("native tables", native, "")):
            theirs = partial(_by_hand, tables, sql.format(**BY_HAND))
            _agree(ours(), theirs())
            mine, other, ratio = paired(ours, theirs, ROUNDS, clock)
            baseline = f"DuckDB, {where}, {1000 * other:,.1f} ms"
            figures.append(figure(what, 1000 * mine, "ms of CPU", baseline=baseline, ratio=ratio, aim=its_aim))
    return figures


def panel(session: Session, paths: list[str], events: pa.Table) -> list[Figure]:
    """Return the session's time ÷ the others', to find the value of every concept known at each event. paths: the files
    with the facts.
    """
    clock, figures = processor(session._backend.pid), []
    ours = partial(_asked, session, PANEL.replace("facts", "lake.xbrl_facts"))
    connection = duckdb.connect(":memory:", config={"threads": "1"})
    connection.execute("SET TimeZone='UTC'")
    connection.register("given", events)
    connection.execute("CREATE TABLE events AS FROM given")
    connection.execute(
        "CREATE TABLE facts AS SELECT ticker, concept, available_at, value_number "
        f"FROM read_parquet({paths!r}, hive_partitioning=false) WHERE {SEEN}"
    )
    with closing(connection) as native:
        others = {
            "DuckDB ASOF on a native table": partial(_by_hand, native, PANEL),
            "polars join_asof on frames in memory": _polars(native.sql("FROM facts").to_arrow_table(), events),
        }
        for who, theirs in others.items():
            assert [*ours().to_pylist()[0].values()] == [*theirs().to_pylist()[0].values()], who
            mine, other, ratio = paired(ours, theirs, 3, clock)
            what, baseline = "panel, every concept at every event", f"{who}, {1000 * other:,.0f} ms"
            figures.append(figure(what, 1000 * mine, "ms of CPU", baseline=baseline, ratio=ratio, aim="≤ 1.1"))
    return figures


@contextmanager
def by_hand(lake: Lake, events: pa.Table) -> Iterator[tuple[Connection, Connection]]:
    """Yield two DuckDBs without a lake: on Parquet files sorted by company, and on native tables in that order."""
    with tempfile.TemporaryDirectory(dir=HOME) as folder, ExitStack() as stack:
        files = biglake.sorted_files(lake, Path(folder))
        tables = [
            stack.enter_context(closing(duckdb.connect(where, config={"threads": "1"})))
            for where in (":memory:", f"{folder}/native")
        ]
        for kind, connection in zip(("VIEW", "TABLE"), tables, strict=True):
            connection.execute("SET TimeZone='UTC'; SET parquet_metadata_cache=true")
            connection.register("given", events)
            connection.execute("CREATE TABLE events AS FROM given")
            for name, file in files.items():
                connection.execute(f"CREATE {kind} {name} AS FROM '{file}'")
        yield tables[0], tables[1]


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


def _agree(ours: pa.Table, theirs: pa.Table) -> None:
    """Check that both sides returned the same rows, up to the order of sums. Raises AssertionError."""
    mine, other = (sorted(map(tuple, (row.values() for row in each.to_pylist()))) for each in (ours, theirs))
    assert len(mine) == len(other)
    for ours_row, their_row in zip(mine, other, strict=True):
        for our_value, two in zip(ours_row, their_row, strict=True):
            assert our_value == two or math.isclose(our_value, two, rel_tol=1e-9), (
                f"the session answers {our_value}, DuckDB {two}"
            )


def _asked(session: Session, sql: str) -> pa.Table:
    return session.sql(sql).arrow()


def _by_hand(connection: Connection, sql: str) -> pa.Table:
    return connection.sql(sql).to_arrow_table()
