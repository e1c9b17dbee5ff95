"""The cost of the wall: opening sessions, querying them, and as-of panels, on a computed lake. The baselines are what a
user would have without a lake: DuckDB in this process with hand-written filters, over files sorted by company and over
native tables. All sides use one thread, as sessions do. Costs are CPU time, which other load changes little. Full size
is 11 million rows: 2 of facts, 8.5 of bars, 0.5 of articles. The lake is in `.pitlake/bench` and is removed at the end.
"""

import math
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from bench import biglake
from bench.figures import Figure, figure, paired, processor
from bench.panel import panel
from pitlake.clock import iso
from pitlake.lake import Lake
from pitlake.session import Limits, Session, Viewpoint, open_session
from pitlake.session.sealed.launcher import warm
from pitlake.session.visible.cut_cache import CutCache

Connection = duckdb.DuckDBPyConnection
HOME = Path(".pitlake") / "bench"
FULL = {"size": biglake.FULL, "events": 100_000, "opens": 40}
FIVE = 5
T = datetime(2024, 6, 14, 15, 30, tzinfo=timezone.utc)
THREE = ("xbrl_facts", "news", "prices")
LIMITS = Limits(memory=14 << 30, seconds=900.0)
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
# The questions, for a session (`{prices}` is a view) and by hand (`{prices}` contains the filter).
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


def run(
    size: dict[str, int] = biglake.SMALL, events: int = 10_000, opens: int = 20, root: Path | None = None
) -> list[Figure]:
    """Every figure. root: a lake to use and leave in place; without one it is made and removed."""
    warm()
    home = root or HOME / f"wall-{size['facts']}"
    lake = biglake.build(home, **size)
    try:
        rows = sum(file.rows for name in THREE for file in lake.snapshot().files(name))
        event_times = _events(events, size["facts"])
        figures = [figure("rows of the lake", rows, "rows")]
        figures += opening(lake, opens)
        with tempfile.TemporaryDirectory() as cuts, by_hand(lake, event_times) as (sorted_tables, native):
            cut_cache = CutCache(Path(cuts) / "cuts")
            at = Viewpoint(as_of=T, lake=lake)
            with open_session(at, datasets=THREE, limits=LIMITS, cut_cache=cut_cache) as session:
                session.load("events", event_times)
                figures += questions(session, sorted_tables, native)
                paths = [file.path for file in lake.snapshot().files("xbrl_facts")]
                figures += panel(session, paths, SEEN, event_times)
        return figures
    finally:
        if root is None:
            shutil.rmtree(home)


def opening(lake: Lake, opens: int) -> list[Figure]:
    """Measure opening sessions as of instants in new months, as of other instants in these months, and as of the same
    instants again.
    """
    rng, figures = random.Random(1), []
    first, last = datetime(2012, 1, 1, tzinfo=timezone.utc), datetime(2024, 12, 1, tzinfo=timezone.utc)
    moments = [first + timedelta(seconds=rng.randrange(int((last - first).total_seconds()))) for _ in range(opens)]
    for what, names, aims in (
        ("one dataset", ("prices",), ("≤ 40", "", "≤ 15")),
        ("three datasets", THREE, ("≤ 40", "", "≤ 20")),
        ("all datasets", None, ("≤ 40", "", "≤ 20")),
    ):
        with tempfile.TemporaryDirectory() as cuts:
            cut_cache = CutCache(Path(cuts) / "cuts")
            snapshot = Lake(lake.root).snapshot()
            open_at = partial(open_session, snapshot=snapshot, datasets=names, cut_cache=cut_cache)
            warm, _ = _opened(partial(open_at, Viewpoint(as_of=T)))
            figures.append(figure(f"open {what}, the first session of all", warm / 1000, "s", aim="≤ 1.5"))
            cache_bytes, lake_bytes = _size(Path(cuts).rglob("*")), _size(lake.root.rglob("*"))
            against = f"the lake, {lake_bytes / 2**20:,.0f} MiB"
            figures.append(
                figure(
                    f"kept for {what}",
                    cache_bytes / 2**20,
                    "MiB",
                    baseline=against,
                    ratio=cache_bytes / lake_bytes,
                    aim="≤ 0.15",
                )
            )
            moment_rounds = (moments, [at.replace(day=(at.day + 11) % 28 + 1) for at in moments], moments)
            taken_by = [[_opened(partial(open_at, Viewpoint(as_of=at))) for at in each] for each in moment_rounds]
            at_once = statistics.median(_five(partial(open_at, Viewpoint(as_of=at))) for at in moments)
        kinds = ("new T of a new month", "new T", "T seen before")
        for which, taken, aim in zip(kinds, taken_by, (("", ""), aims[:2], (aims[2], "")), strict=True):
            wall, cpu = zip(*taken, strict=True)
            p95 = statistics.quantiles(wall, n=20)[-1]
            figures += [
                figure(f"open {what}, {which}, p50", statistics.median(wall), "ms", aim=aim[0]),
                figure(f"open {what}, {which}, p95", p95, "ms", aim=aim[1]),
                figure(f"open {what}, {which}, least", min(wall), "ms"),
                figure(f"open {what}, {which}, p50 of both processes", statistics.median(cpu), "ms of CPU"),
            ]
        one_wall = statistics.median(wall for wall, _ in taken_by[-1])
        against = "one, T seen before"
        five = f"open {what}, five at once, T seen before, p50"
        figures.append(figure(five, at_once, "ms", baseline=against, ratio=at_once / one_wall, aim="≤ 2.6"))
    return figures


def questions(session: Session, sorted_tables: Connection, native: Connection) -> list[Figure]:
    """Return the CPU time of each question to a session, and its ratios to DuckDB on sorted files and on native tables,
    which are in the same order.
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


@contextmanager
def by_hand(lake: Lake, events: pa.Table) -> Iterator[tuple[Connection, Connection]]:
    """Yield two DuckDBs without a lake: one on Parquet files sorted by company, and one on native tables in the same
    order.
    """
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


def _events(count: int, facts: int) -> pa.Table:
    """Return events of the lake's companies at random instants before T."""
    rng = random.Random(7)
    companies = round(facts / len(biglake.MONTHS) / biglake.FACTS_PER_COMPANY)
    first = datetime(2012, 1, 1, tzinfo=timezone.utc)
    seconds = int((T - first).total_seconds())
    tickers = [f"T{rng.randrange(companies):05d}" for _ in range(count)]
    moments = [first + timedelta(seconds=rng.randrange(seconds)) for _ in range(count)]
    return pa.table({"ticker": tickers, "at": pa.array(moments, pa.timestamp("us", "UTC"))})


def _opened(open_it: Callable[[], Session]) -> tuple[float, float]:
    """Return the wall and CPU milliseconds of opening a session."""
    started, computed = time.perf_counter(), time.process_time()
    session = open_it()
    taken = time.perf_counter() - started, processor(session._backend.pid)() - computed
    session.close()
    return 1000 * taken[0], 1000 * taken[1]


def _five(open_it: Callable[[], Session]) -> float:
    """Return the milliseconds until five sessions requested at once are open."""
    with ThreadPoolExecutor(FIVE) as pool:
        started = time.perf_counter()
        sessions = list(pool.map(lambda _: open_it(), range(FIVE)))
        taken = time.perf_counter() - started
    for session in sessions:
        session.close()
    return 1000 * taken


def _agree(ours: pa.Table, theirs: pa.Table) -> None:
    """Check that both sides gave the same rows; sums may be added in another order. Raises AssertionError."""
    mine, other = (sorted(map(tuple, (row.values() for row in each.to_pylist()))) for each in (ours, theirs))
    assert len(mine) == len(other)
    for ours_row, their_row in zip(mine, other, strict=True):
        for our_value, two in zip(ours_row, their_row, strict=True):
            assert our_value == two or math.isclose(our_value, two, rel_tol=1e-9), (
                f"the session answers {our_value}, DuckDB {two}"
            )


def _size(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.is_file())


def _asked(session: Session, sql: str) -> pa.Table:
    return session.sql(sql).arrow()


def _by_hand(connection: Connection, sql: str) -> pa.Table:
    return connection.sql(sql).to_arrow_table()
