"""The cost of many small files, which compaction removes: the same bars in 1,000, 10,000 and 50,000 files. Each round
opens a session as of an earlier opened instant and reads one ticker's bars, before and after `Lake.compact`. Costs are
CPU time of both processes. The lakes are in a temporary directory.
"""

import statistics
import tempfile
import time
from datetime import date
from functools import partial
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from bench import biglake
from bench.figures import Figure, figure, processor
from pitlake.clock import start_of_new_york_day
from pitlake.datasets import get
from pitlake.errors import PitlakeError
from pitlake.lake import Lake
from pitlake.lake.storage.files import MONTH_COLUMN, NewFile, write_parquet
from pitlake.lake.storage.parallel import each
from pitlake.lake.tables.delta import table_key
from pitlake.session import Limits, Viewpoint, open_session
from pitlake.session.sealed.launcher import warm
from pitlake.session.visible.cut_cache import CutCache

FULL = {"counts": (1_000, 10_000, 50_000)}
COMPANIES = 300
T = start_of_new_york_day(date(2024, 12, 1))
POINT = "SELECT date, close FROM prices WHERE symbol = 'T00101' AND date > '2024-08-01'"
ROUNDS = 7
AIM = "≤ 1.5"


def run(counts: tuple[int, ...] = (1_000,)) -> list[Figure]:
    """Return the figures before and after compaction for each count of files, as ratios to the first count's after
    it.
    """
    warm()
    figures: list[Figure] = []
    first: dict[str, float] = {}
    for count in counts:
        with tempfile.TemporaryDirectory(prefix="pitlake-bench-") as folder:
            lake = landed(Path(folder) / "lake", count)
            figures += [figure(f"{what}, {count:,} files", ms, "ms of CPU") for what, ms in asked(lake, folder).items()]
            started = time.perf_counter()
            done = lake.compact("prices", before="2024-12")
            figures.append(figure(f"compaction of {count:,} files", time.perf_counter() - started, "s"))
            after = asked(Lake(lake.root), folder)
            first = first or after
            figures += [
                figure(
                    f"{what}, compacted to {count - done.files_before + done.files_after}",
                    ms,
                    "ms of CPU",
                    baseline=f"{counts[0]:,} files, compacted",
                    ratio=ms / first[what],
                    aim=AIM,
                )
                for what, ms in after.items()
            ]
    return figures


def landed(root: Path, count: int) -> Lake:
    """Create a lake of some million bars in about this many files, each with a part of a day's or month's rows."""
    lake = Lake(root)
    lake.start()
    parts = -(-count // len(biglake.MONTHS))
    months = each(partial(_month, root, parts), biglake.MONTHS)
    biglake.commit(root, "prices", [file for files in months for file in files])
    return lake


def asked(lake: Lake, folder: str) -> dict[str, float]:
    """Return the median CPU milliseconds of opening (at an earlier T) and of the point query, or none if it is
    refused.
    """
    cut_cache, snapshot = CutCache(Path(folder) / "cuts"), lake.snapshot()
    open_times, queried = [], []
    try:
        for _ in range(ROUNDS + 1):
            started = time.process_time()
            with open_session(
                Viewpoint(as_of=T),
                snapshot=snapshot,
                datasets=["prices"],
                cut_cache=cut_cache,
                limits=Limits(seconds=600),
            ) as session:
                clock = processor(session._backend.pid)
                open_times.append(clock() - started)
                session.sql(POINT)
                started = clock()
                session.sql(POINT)
                queried.append(clock() - started)
    except PitlakeError as refused:
        return {f"refused ({refused})": float("nan")}
    return {"open": 1000 * statistics.median(open_times[1:]), "point query": 1000 * statistics.median(queried[1:])}


def _month(root: Path, parts: int, month: date) -> list[NewFile]:
    rows = biglake.rows_of(get("prices"), COMPANIES, month)
    part = pc.bit_wise_and(pc.cast(rows["volume"], pa.int64()), 0x7FFFFFFF).to_numpy() % parts
    parts_of_rows = (rows.filter(pa.array(part == number)) for number in range(parts))
    return [_file(root, month, some) for some in parts_of_rows if some.num_rows]


def _file(root: Path, month: date, rows: pa.Table) -> NewFile:
    # Skip the sync of each file, because these files need not survive a crash.
    name = f"{MONTH_COLUMN}={month:%Y-%m}/{uuid4().hex}.parquet"
    path = root / table_key("prices") / name
    path.parent.mkdir(parents=True, exist_ok=True)
    write_parquet(rows.sort_by([("symbol", "ascending"), ("available_at", "ascending")]), path)
    bounds = pc.min_max(rows["available_at"]).as_py()
    return NewFile(name, rows.num_rows, path.stat().st_size, bounds["min"], bounds["max"])
