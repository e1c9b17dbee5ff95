"""The cost of opening sessions: on a lake of 11 million rows (2 of facts, 8.5 of bars, 0.5 of articles), and on lakes
of ever more bars, with the costs of queries, a publish and concurrent sessions. Costs are CPU time of this process and
all session processes, which other load hardly affects. First and concurrent sessions are measured in wall time.
"""

import random
import shutil
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import date, datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import psutil
import pyarrow.compute as pc

from bench import biglake
from bench.figures import Figure, figure, processor
from bench.publish import OBSERVED
from pitlake.datasets import get
from pitlake.lake import Lake
from pitlake.lake.publishing.stage import staged_schema
from pitlake.session import Limits, Session, Viewpoint, open_session
from pitlake.session.sealed.launcher import warm
from pitlake.session.visible.cut_cache import CutCache

HOME = Path(".pitlake") / "bench"
FULL = {"size": biglake.FULL, "opens": 40, "rows": (100_000, 1_000_000, 10_000_000, 100_000_000, 200_000_000)}
FIVE = 5
T = datetime(2024, 6, 14, 15, 30, tzinfo=timezone.utc)
THREE = ("xbrl_facts", "news", "prices")
LIMITS = Limits(memory=14 << 30, seconds=900.0)
ROUNDS = 3
SCAN = "SELECT avg(open), avg(close), sum(volume), max(high) FROM prices"
ONE = "SELECT date, close FROM prices WHERE symbol = 'T00001' AND date > '2024-03-15'"
NEXT_DAYS = tuple(date(2025, 1, day) for day in (2, 3, 6, 7, 8))
STAGED = 1_000


def run(
    size: dict[str, int] = biglake.SMALL,
    opens: int = 20,
    rows: tuple[int, ...] = (100_000, 1_000_000, 4_000_000),
    sessions: tuple[int, ...] = (1, 8, 32),
) -> list[Figure]:
    """Return every figure."""
    warm()
    home = HOME / f"open-{size['facts']}"
    try:
        figures = _opens(biglake.build(home, **size), opens)
    finally:
        shutil.rmtree(home)
    for count in rows:
        with tempfile.TemporaryDirectory(prefix="pitlake-bench-") as folder:
            figures += _grown(Path(folder), count, sessions if count == rows[-1] else ())
    return figures


def _opens(lake: Lake, opens: int) -> list[Figure]:
    """Measure opening sessions as of instants in new months, as of other instants in the same months, and as of the
    first instants again.
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


def _grown(folder: Path, count: int, sessions: tuple[int, ...]) -> Iterator[Figure]:
    """Measure a lake of bars with one file per month: bytes, opening at a new T, a point query, a scan, a publish, and
    concurrent sessions.
    """
    lake, name, cut_cache = biglake.build(folder / "lake", 0, 0, count), f"{count:,} bars", CutCache(folder / "cuts")
    stored = lake.snapshot().files("prices")
    yield figure(f"bytes a row, {name}", sum(file.size for file in stored) / sum(file.rows for file in stored), "bytes")
    yield figure(f"open at a new T of a new month, {name}", _opening(lake, cut_cache), "ms of CPU")
    with _bars(lake, cut_cache) as session:
        yield figure(f"one ticker, 90 days, {name}", _cost(partial(session.sql, ONE), 20), "ms of CPU")
        yield figure(f"four columns of all, {name}", _cost(partial(session.sql, SCAN), ROUNDS), "ms of CPU")
    # Publishing compares the bars of a day after the lake's last day with the lake, to find new and superseded rows.
    prices = get("prices")
    month = biglake.rows_of(prices, STAGED, date(2025, 1, 1)).select(staged_schema(prices).names)
    taken = []
    for day in NEXT_DAYS:
        rows = month.filter(pc.equal(month["date"], day)).cast(staged_schema(prices))
        started = time.process_time()
        with lake.stage(prices, uuid.uuid4().hex) as stage:
            stage.add(day, rows, extracted=len(rows))
            assert lake.publish(stage, OBSERVED).total.published == STAGED
        taken.append(1000 * (time.process_time() - started))
    yield figure(f"publish {STAGED:,} more, {name}", statistics.median(taken), "ms of CPU")
    for many in sessions:
        yield from _at_once(lake, cut_cache, many, name)


def _at_once(lake: Lake, cut_cache: CutCache, many: int, name: str) -> Iterator[Figure]:
    """Measure this many sessions that are open at the same time and queried concurrently."""
    with ExitStack() as exits, ThreadPoolExecutor(many) as pool:
        started = time.perf_counter()
        sessions = list(pool.map(lambda _: exits.enter_context(_bars(lake, cut_cache)), range(many)))
        yield figure(f"open {many} sessions, {name}", time.perf_counter() - started, "s")
        asks = [session for session in sessions for _ in range(ROUNDS * 4)]
        started = time.perf_counter()
        list(pool.map(lambda session: session.sql(ONE).rows(), asks))
        yield figure(f"points a second, {many} sessions", len(asks) / (time.perf_counter() - started), "1/s")
        processes = psutil.Process().children(recursive=True)
        memory = sum(process.memory_full_info().pss for process in processes)  # shared pages count once
        yield figure(f"memory a session, {many} sessions", memory / many / 2**20, "MiB")


def _bars(lake: Lake, cut_cache: CutCache, back: timedelta = timedelta(0)) -> Session:
    """Open a session with only bars, as of T minus `back`."""
    return open_session(Viewpoint(as_of=T - back, lake=lake), datasets=["prices"], cut_cache=cut_cache, limits=LIMITS)


def _opening(lake: Lake, cut_cache: CutCache) -> float:
    """Return the CPU milliseconds to open a session at a time 37 days before the last one.
    The files' footers have been read before.
    """
    _bars(lake, cut_cache).close()
    sessions: list[Session] = []
    instants = iter(timedelta(days=37 * number) for number in range(1, 11))
    taken = _cost(lambda: sessions.append(_bars(lake, cut_cache, next(instants))), 10)
    for session in sessions:
        session.close()
    return taken


def _cpu() -> float:
    """Return the CPU seconds used so far by this process and all session processes."""
    return processor(*(child.pid for child in psutil.Process().children(recursive=True)))()


def _cost(work: Callable[[], object], times: int) -> float:
    """Return the CPU milliseconds of one run of the work, averaged over `times` runs."""
    started = _cpu()
    for _ in range(times):
        work()
    return 1000 * (_cpu() - started) / times


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


def _size(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.is_file())
