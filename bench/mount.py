"""`pitlake mount` of a Parquet file: speed, memory, disk, and the same file again.

The memory of mapped files, which the kernel can drop, is also counted as memory. A second figure leaves it out.
"""

import sys
import tempfile
from pathlib import Path

import duckdb

from bench.bulk import CORES, measure
from bench.figures import Figure, figure

FULL = {"rows": 10_000_000}
KEYS = 3_000
OPTIONS = ("--available-at", "published_at", "--key", "ticker,period", "--valid-at", "period", "--timezone", "UTC")


def make(file: Path, rows: int) -> None:
    """Write estimates of many companies, each period's once, published within three years."""
    duckdb.sql(f"""
        COPY (
            SELECT 'T' || lpad((i % {KEYS})::VARCHAR, 4, '0') AS ticker,
                DATE '1990-01-01' + (i // {KEYS})::INTEGER AS period,
                round(hash(i) % 100000 / 7, 2) AS estimate, hash(i, 1) % 40 AS analysts,
                TIMESTAMP '2020-01-01' + to_microseconds((hash(i, 2) % 94608000000000)::BIGINT) AS published_at
            FROM range({rows}) AS every(i)
        ) TO '{file}' (FORMAT parquet)""")


def run(rows: int = 1_000_000) -> list[Figure]:
    """Return the figures of a mount. Speed is by CPU time on two cores, because other load changes that little."""
    with tempfile.TemporaryDirectory(prefix="pitlake-bench-") as folder:
        table, lake = Path(folder) / "estimates.parquet", Path(folder) / "lake"
        make(table, rows)
        mount = [sys.executable, "-m", "pitlake", "mount", str(table), "--name", "estimates", "--lake", str(lake)]
        first = measure([*mount, *OPTIONS], lake.with_suffix(".log"))
        size = sum(file.stat().st_size for file in lake.rglob("*") if file.is_file())
        again = measure(mount, lake.with_suffix(".log"))
    speed, ratio = rows / first.computed * CORES, again.computed / first.computed
    return [
        figure(f"{rows:,} rows of five columns", speed, "/s", baseline=f"{first.seconds:.0f} s", aim="≥ 1000000 rows"),
        figure("memory of all processes", first.peak, "MB", aim="≤ 2000 MB"),
        figure("memory without mapped files", first.own, "MB"),
        figure("disk per row", size / rows, "bytes"),
        figure("the same table again", again.computed, "s", baseline="mounting it", ratio=ratio),
    ]
