"""The cost of a walk through time: 250 trading days with three queries on three datasets each. Three ways are compared
on the lake of `bench.open`: a session for each day, one session that moves, and DuckDB by hand on one Parquet file per
table, sorted by company. Each way runs first without caches, and then again. Costs are CPU time of all processes.
"""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from bench import biglake
from bench.figures import Figure, figure, processor
from pitlake.clock import iso
from pitlake.exchange import session as exchange_session
from pitlake.lake import Lake
from pitlake.session import Session, Viewpoint, open_session
from pitlake.session.digest import sha256_of
from pitlake.session.sealed import launcher
from pitlake.session.visible.cut_cache import CutCache

HOME = Path(".pitlake") / "bench"
FULL = {"size": biglake.FULL, "days": 250}
AIMS = {"first": "≤ 9 s", "again": "≤ 7 s"}
"""The aims for one session that moves, at full size."""
THREE = ("xbrl_facts", "news", "prices")
FIRST = date(2023, 6, 1)
QUESTIONS = (
    """SELECT symbol, arg_max(close, available_at) AS close FROM {prices}
    WHERE available_at > {t} - INTERVAL 10 DAY GROUP BY symbol ORDER BY symbol""",
    """SELECT ticker, count(DISTINCT id) AS articles FROM {news}
    WHERE available_at > {t} - INTERVAL 7 DAY GROUP BY ticker ORDER BY ticker""",
    "SELECT concept, period_end, value_number FROM {facts} WHERE ticker = 'T00101' ORDER BY ALL",
)
NEWEST_FACTS = """QUALIFY row_number() OVER (
    PARTITION BY cik, concept, unit, period_type, period_start, period_end, dimensions, members, ticker
    ORDER BY available_at DESC) = 1"""
Answers = Iterator[tuple[list[pa.Table], float]]
"""The answers of each day, and the CPU seconds of session processes since the previous day."""


def run(size: dict[str, int] = biglake.SMALL, days: int = 40, root: Path | None = None) -> list[Figure]:
    """Return every figure. root: a lake to use and keep; by default one is created and removed at the end."""
    launcher.warm(THREE)
    home = root or HOME / f"walk-{size['facts']}"
    lake = biglake.build(home, **size)
    try:
        moments = list(trading_closes(days))
        with tempfile.TemporaryDirectory(dir=HOME) as folder:
            scratch = Path(folder)
            files = biglake.sorted_files(lake, scratch)
            ways: dict[str, Callable[[], Answers]] = {}
            for name, way in (("a session a day", anew), ("one that moves", moving)):
                ways[name] = partial(way, Lake(lake.root), CutCache(scratch / name.replace(" ", "-")), moments)
            ways["DuckDB, sorted files"] = partial(by_hand, files, moments)
            figures, right = [], None
            for time_of in ("first", "again"):
                taken = {name: _timed(way) for name, way in ways.items()}
                for answers, _, _ in taken.values():
                    right = right or answers
                    assert answers == right, "the ways don't agree"
                other = taken["DuckDB, sorted files"][1]
                for name, (_, cpu, wall) in taken.items():
                    what = f"walk {len(moments)} days, {name}, {time_of}"
                    is_aim = name == "one that moves" and len(moments) == FULL["days"]
                    aim = AIMS[time_of] if is_aim else ""
                    against = f"DuckDB over sorted files, {other:.1f} s"
                    figures.append(figure(what, cpu, "s of CPU", baseline=against, ratio=cpu / other, aim=aim))
                    figures.append(figure(f"{what}, by the clock", wall, "s"))
            return figures
    finally:
        if root is None:
            shutil.rmtree(home)


def trading_closes(days: int) -> Iterator[datetime]:
    """Yield the instants half an hour after each close of the exchange."""
    day, left = FIRST, days
    while left:
        if (session := exchange_session(day)) is not None:
            yield session.close + timedelta(minutes=30)
            left -= 1
        day += timedelta(days=1)


def anew(lake: Lake, cut_cache: CutCache, moments: list[datetime]) -> Answers:
    """Yield the answers of each day from a separate session."""
    snapshot = lake.snapshot()
    for moment in moments:
        at = Viewpoint(as_of=moment, lake=lake)
        with open_session(at, snapshot=snapshot, datasets=THREE, cut_cache=cut_cache) as session:
            yield _asked(session, moment), session.cpu_seconds()


def moving(lake: Lake, cut_cache: CutCache, moments: list[datetime]) -> Answers:
    """Yield the answers of each day from one session that moves."""
    at = Viewpoint(as_of=moments[0], lake=lake)
    with open_session(at, snapshot=lake.snapshot(), datasets=THREE, cut_cache=cut_cache) as session:
        computed = 0.0
        for moment in moments:
            session.advance(moment)
            answers, now = _asked(session, moment), session.cpu_seconds()
            yield answers, now - computed if now >= computed else now  # smaller if another process has taken over
            computed = now


def by_hand(files: dict[str, Path], moments: list[datetime]) -> Answers:
    """Yield the answers of each day from DuckDB on sorted files."""
    with closing(duckdb.connect(":memory:", config={"threads": "1"})) as connection:
        connection.execute("SET TimeZone='UTC'; SET parquet_metadata_cache=true")
        for moment in moments:
            # An explicit filter, and a window function for the newest revisions of facts.
            seen = f"WHERE available_at <= TIMESTAMPTZ '{iso(moment)}'"
            sources = {
                "prices": f"(FROM '{files['prices']}' {seen})",
                "news": f"(FROM '{files['news']}' {seen})",
                "facts": f"(FROM '{files['xbrl_facts']}' {seen} {NEWEST_FACTS})",
            }
            yield [connection.sql(text).to_arrow_table() for text in _questions(sources, moment)], 0.0


def _timed(way: Callable[[], Answers]) -> tuple[list[str], float, float]:
    """Return the hashes of each day's answers, and the CPU and wall seconds that all answers took."""
    zygote = processor(launcher._zygote.process.pid)  # includes this process
    started, computed, answers, of_sessions = time.perf_counter(), zygote(), [], 0.0
    for tables, seconds in way():
        of_sessions += seconds
        answers.append(" ".join(map(sha256_of, tables)))
    return answers, zygote() - computed + of_sessions, time.perf_counter() - started


def _asked(session: Session, moment: datetime) -> list[pa.Table]:
    return [
        session.sql(text).arrow()
        for text in _questions({"prices": "prices", "news": "news", "facts": "xbrl_facts"}, moment)
    ]


def _questions(sources: dict[str, str], moment: datetime) -> list[str]:
    return [text.format(**sources, t=f"TIMESTAMPTZ '{iso(moment)}'") for text in QUESTIONS]
