"""The growth of costs with rows, files, partitions and sessions: the curves of docs/scale.md, on one machine, in
minutes. Each curve varies one number. Costs are CPU time of this process and all session processes, which other load
changes little; only concurrent sessions are measured in wall time.
"""

import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import date, timedelta
from functools import partial
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.compute as pc

from bench import biglake
from bench.appending import aim
from bench.compaction import landed
from bench.figures import Figure, figure, processor
from bench.publish import DAY, OBSERVED, staged
from pitlake.clock import start_of_new_york_day
from pitlake.datasets import get
from pitlake.lake import Lake
from pitlake.lake.publishing.stage import staged_schema
from pitlake.lake.storage.files import NewFile
from pitlake.session import Limits, Session, Viewpoint, open_session
from pitlake.session.sealed.launcher import warm
from pitlake.session.visible.cut_cache import CutCache

T = start_of_new_york_day(DAY)
SCAN = "SELECT avg(open), avg(close), sum(volume), max(high) FROM prices"
ONE = "SELECT date, close FROM prices WHERE symbol = 'T00001' AND date > '2024-03-15'"
NEXT_DAYS = tuple(date(2025, 1, day) for day in (2, 3, 6, 7, 8))
STAGED = 1_000
ROWS_A_DAY = 40
ROUNDS = 3
LIMITS = Limits(seconds=600.0)
FULL = {"rows": (100_000, 1_000_000, 10_000_000, 100_000_000, 200_000_000), "files": (1_000, 10_000)}


def run(
    rows: tuple[int, ...] = (100_000, 1_000_000, 4_000_000),
    files: tuple[int, ...] = (200, 2_000),
    days: tuple[int, ...] = (10, 300, 1_000),
    sessions: tuple[int, ...] = (1, 8, 32),
) -> list[Figure]:
    """Every curve."""
    warm()
    figures = [figure("load of the machine before", os.getloadavg()[0], f"of {os.cpu_count()} cores")]
    for curve in (_rows(rows, sessions), _files(files), _days(days)):
        figures += curve
    return [*figures, figure("load of the machine after", os.getloadavg()[0], f"of {os.cpu_count()} cores")]


def _rows(counts: tuple[int, ...], sessions: tuple[int, ...]) -> Iterator[Figure]:
    """Measure bars with one file per month: bytes, opening at a new T, a point query and a scan; and concurrent
    sessions on the last lake.
    """
    taken: dict[int, float] = {}
    for count in counts:
        with tempfile.TemporaryDirectory(prefix="pitlake-bench-") as folder:
            lake, name = bars(Path(folder) / "lake", count), f"{count:,} bars"
            cut_cache = CutCache(Path(folder) / "cuts")
            stored = lake.snapshot().files("prices")
            have = sum(file.rows for file in stored)
            yield figure(f"bytes a row, {name}", sum(file.size for file in stored) / have, "bytes")

            def point(what: str, value: float, count: int = count, name: str = name) -> Figure:
                return figure(f"{what}, {name}", value, "ms of CPU", curve=what, at=count)

            yield point("open at a new T of a new month", _opening(lake, cut_cache))
            with opened(lake, cut_cache) as session:
                yield point("one ticker, 90 days", _cost(partial(session.sql, ONE), 20))
                yield point("four columns of all", _cost(partial(session.sql, SCAN), ROUNDS))
            taken[count] = _thousand_more(lake)
            grown, what = taken[count] / taken[counts[0]], f"publish {STAGED:,} more"
            against = f"beside {counts[0]:,} bars"
            yield point(what, taken[count]) | {"baseline": against, "ratio": grown, "aim": aim(count)}
            if count == counts[-1]:
                for many in sessions:
                    yield from _at_once(lake, cut_cache, many, name)


def _at_once(lake: Lake, cut_cache: CutCache, many: int, name: str) -> Iterator[Figure]:
    """Measure this many sessions that are open together and queried at the same time."""
    with ExitStack() as exits, ThreadPoolExecutor(many) as pool:
        started = time.perf_counter()
        sessions = list(pool.map(lambda _: exits.enter_context(opened(lake, cut_cache)), range(many)))
        yield figure(f"open {many} sessions, {name}", time.perf_counter() - started, "s")
        asks = [session for session in sessions for _ in range(ROUNDS * 4)]
        started = time.perf_counter()
        list(pool.map(lambda session: session.sql(ONE).rows(), asks))
        yield figure(f"points a second, {many} sessions", len(asks) / (time.perf_counter() - started), "1/s")
        yield figure(f"memory a session, {many} sessions", _memory() / many / 2**20, "MiB")


def _files(counts: tuple[int, ...]) -> Iterator[Figure]:
    """Measure the same bars in more files without compaction, at an instant opened before."""
    for count in counts:
        with tempfile.TemporaryDirectory(prefix="pitlake-bench-") as folder:
            lake, cut_cache = landed(Path(folder) / "lake", count), CutCache(Path(folder) / "cuts")
            yield figure(f"open, {count:,} files", _opening(lake, cut_cache, days=0), "ms of CPU")
            with opened(lake, cut_cache) as session:
                yield figure(f"one ticker's bars, {count:,} files", _cost(partial(session.sql, ONE), 5), "ms of CPU")


def _days(counts: tuple[int, ...]) -> Iterator[Figure]:
    """Measure publishing news: `counts` days by one run each, and many days by one run per day, each with its own lake
    version.
    """
    for count in counts:
        with tempfile.TemporaryDirectory(prefix="pitlake-bench-") as folder:
            lake = Lake(folder)
            took = _publish(lake, range(count))
            yield figure(f"{count:,} days of {ROWS_A_DAY} articles, one run", took / count, "ms of CPU a day")
            yield figure(f"files of {count:,} days", len(lake.snapshot().files("news")), "files")
    with tempfile.TemporaryDirectory(prefix="pitlake-bench-") as folder:
        lake = Lake(folder)
        few, many = counts[:2]
        taken = [_publish(lake, [day]) for day in range(many)]
        yield figure(f"a day a run, first {few} runs", statistics.mean(taken[:few]), "ms of CPU a day")
        yield figure(f"a day a run, last {few} of {many} runs", statistics.mean(taken[-few:]), "ms of CPU a day")
        newest = _cost(lambda: Lake(folder).snapshot().files("news"), 20)
        yield figure(f"read the newest of {many} versions", newest, "ms of CPU")
        yield figure(f"vacuum {many} versions, dry run", _cost(Lake(folder).vacuum, 1), "ms of CPU")
        lake.compact("news")
        taken = [_publish(lake, [day]) for day in range(many, many + few)]
        yield figure(f"a day a run, {few} runs after compaction", statistics.mean(taken), "ms of CPU a day")


def bars(root: Path, rows: int) -> Lake:
    """Create a compacted lake of about this many daily bars over fourteen years."""
    lake, prices = Lake(root), get("prices")
    lake.start()

    def written(month: date) -> NewFile:
        return biglake.write(root, prices, f"{month:%Y-%m}", biglake.rows_of(prices, _companies(rows), month))

    with ThreadPoolExecutor(2) as pool:
        biglake.commit(root, "prices", list(pool.map(written, biglake.MONTHS)))
    biglake.bury(root, lake, prices)
    lake.compact(prices)
    return lake


def _companies(rows: int) -> int:
    return max(2, round(rows / len(biglake.MONTHS) / 21.7))


def _thousand_more(lake: Lake) -> float:
    """Return the CPU milliseconds to publish a thousand bars of one day after the last, the median over days.
    Publishing compares them with the lake to find new and superseded rows.
    """
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
    return statistics.median(taken)


def opened(lake: Lake, cut_cache: CutCache, back: timedelta = timedelta(0)) -> Session:
    """Open a session with only bars, as of T or the given time before it."""
    return open_session(Viewpoint(as_of=T - back, lake=lake), datasets=["prices"], cut_cache=cut_cache, limits=LIMITS)


def _opening(lake: Lake, cut_cache: CutCache, days: int = 37) -> float:
    """Return the CPU milliseconds to open, each time this many days earlier, or at a previously opened instant for 0.
    Footers have been read before.
    """
    opened(lake, cut_cache).close()
    sessions: list[Session] = []
    instants = iter(timedelta(days=days * number) for number in range(1, 11))
    taken = _cost(lambda: sessions.append(opened(lake, cut_cache, next(instants))), 10)
    for session in sessions:
        session.close()
    return taken


def _publish(lake: Lake, numbers: Sequence[int]) -> float:
    """Return the CPU milliseconds of one run over these days, up to DAY."""
    news = get("news")
    articles = staged(news, ROWS_A_DAY, text=1_000)
    minutes = range(ROWS_A_DAY)
    days = []
    for number in numbers:
        begin = start_of_new_york_day(DAY - timedelta(days=number))
        own = {
            "available_at": [begin + timedelta(minutes=20 * minute) for minute in minutes],
            "id": [f"{number}-{minute}" for minute in minutes],
        }
        table = articles
        for name, values in own.items():
            field = table.schema.field(name)
            table = table.set_column(table.column_names.index(name), field, pa.array(values).cast(field.type))
        days.append((DAY - timedelta(days=number), table))
    started = _cpu()
    with lake.stage(news, uuid.uuid4().hex) as stage:
        for day, table in days:
            stage.add(day, table, extracted=len(table))
        assert lake.publish(stage, OBSERVED).changed
    return 1000 * (_cpu() - started)


def _cpu() -> float:
    """Return the CPU seconds used so far by this process and all session processes."""
    return processor(*(child.pid for child in psutil.Process().children(recursive=True)))()


def _cost(work: Callable[[], object], times: int) -> float:
    """Return the CPU milliseconds of one piece of work."""
    started = _cpu()
    for _ in range(times):
        work()
    return 1000 * (_cpu() - started) / times


def _memory() -> int:
    """Return the memory of all session processes in bytes, with shared pages counted once."""
    return sum(process.memory_full_info().pss for process in psutil.Process().children(recursive=True))
