"""Spark's frames beside a session: one question over every row up to T, of facts and of bars.

Rows a second of CPU, of Spark on one thread with its second compiler, asked twice before; the answers of both are
checked to be the same. The libraries are those of `make spark`; without them nothing is measured.
"""

import sys
import tempfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench import biglake
from bench.figures import Figure, figure, paired, processor
from bench.wall import LIMITS, T
from pitlake.lake import Lake
from pitlake.session import connect
from pitlake.spark import frame

FULL = {"facts": 2_000_000, "prices": 4_000_000}
TOOLS = Path(__file__).resolve().parents[1] / ".pitlake/spark-tools"
ROUNDS = 3
ASKED = {
    "xbrl_facts": "SELECT ticker, count(*), max(available_at), min(value_number) FROM {rows} GROUP BY ticker",
    "prices": "SELECT symbol, count(*), max(available_at), min(close) FROM {rows} GROUP BY symbol",
}


def run(facts: int = 200_000, prices: int = 400_000) -> list[Figure]:
    """Rows a second of each dataset, and the ratio of CPU to a session's."""
    if not TOOLS.is_dir() and find_spec("pyspark") is None:
        print("spark: nothing is measured without pyspark, which `make spark` brings", file=sys.stderr)
        return []
    sys.path.append(str(TOOLS))
    from tests.spark.cluster import start

    spark = start("local[1]")
    try:
        with tempfile.TemporaryDirectory(dir=TOOLS.parent) as folder:
            lake = biglake.build(Path(folder) / "lake", facts, 10_000, prices)
            return [_asked(spark, lake, name, text) for name, text in ASKED.items()]
    finally:
        spark.stop()


def _asked(spark: Any, lake: Lake, name: str, text: str) -> Figure:
    rows = frame(spark, name, as_of=T, lake=lake)
    with connect(T, lake=lake, datasets=[name], limits=LIMITS) as session:
        ours = lambda: spark.sql(text, rows=rows).collect()  # noqa: E731
        theirs = partial(session.sql, text.format(rows=name))
        told = sorted((one[0], one[1], one[2].timestamp(), one[3]) for one in ours())
        due = sorted((one[0], one[1], one[2].timestamp(), one[3]) for one in theirs().rows())
        assert told == due
        ours()
        clock = processor(spark.sparkContext._gateway.proc.pid, session._backend.pid)
        seconds, _, ratio = paired(ours, theirs, ROUNDS, clock)
    count = sum(one[1] for one in due)
    what = f"{count:,} newest rows of {name} as a frame of Spark"
    return figure(what, count / seconds, "rows/s of CPU", baseline="a session", ratio=ratio)
