"""What publishing costs: MB/s from a stage to a visible version, against pyarrow writing the same Parquet alone.

Two shapes: facts (short strings and numbers) and news (long texts). The stage is written before the clock starts; the
publish hashes, compares with the lake, writes, forces to disk, commits and proves.
"""

import shutil
import tempfile
import uuid
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.figures import Figure, figure, paired
from pitlake.clock import start_of_new_york_day
from pitlake.contract import Dataset
from pitlake.datasets import get
from pitlake.lake import Lake
from pitlake.lake.files import write_parquet
from pitlake.lake.stage import staged_schema

DAY = date(2024, 5, 16)
OBSERVED = datetime(2026, 1, 1, tzinfo=timezone.utc)
ROUNDS = 3
AIM = "≥ 0.7"


def staged(dataset: Dataset, rows: int, text: int = 0, seed: int = 1) -> pa.Table:
    """`rows` rows of a dataset on one day. `text`: characters of every long text column."""
    rng = np.random.default_rng(seed)
    words = np.array([f"word{number}" for number in range(5_000)])
    start = np.datetime64(start_of_new_york_day(DAY).replace(tzinfo=None), "us")
    columns: dict[str, pa.Array] = {
        "available_at": pa.array(start + rng.integers(0, 86_000_000_000, rows).astype("timedelta64[us]")),
        "available_at_source": pa.array([dataset.source_tag] * rows),
        "evidence": pa.array([f"neo4j:Fact:{number}" for number in range(rows)]),
    }
    kinds = {
        "float": lambda: pa.array(np.round(rng.normal(1e6, 1e5, rows), 2)),
        "int": lambda: pa.array(rng.integers(0, 3, rows)),
        "bool": lambda: pa.array(rng.random(rows) < 0.5),
        "instant": lambda: pa.array(start - rng.integers(0, 10**9, rows).astype("timedelta64[us]")),
        "date": lambda: pa.array(DAY - timedelta(days=int(n)) for n in rng.integers(0, 900, rows)),
        "strings": lambda: pa.array([["Earnings", "News"]] * rows),
        "string": lambda: pa.array(words[rng.integers(0, 500, rows)]),
        "json": lambda: pa.array(['{"a": 1}'] * rows),
    }
    for column in dataset.columns:
        columns[column.name] = kinds[column.type]()
    columns[dataset.identity[0]] = pa.array([f"id-{number:09d}" for number in range(rows)])
    if text:
        body = [" ".join(words[rng.integers(0, 5_000, text // 8)]) for _ in range(rows)]
        columns["body"] = pa.array(body)
    return pa.table(columns).select(staged_schema(dataset).names).cast(staged_schema(dataset))


def run(facts: int = 1_000_000, news: int = 60_000) -> list[Figure]:
    """First publish, and a re-run that finds nothing new, of both shapes."""
    figures = []
    for name, rows, text in (("xbrl_facts", facts, 0), ("news", news, 3_000)):
        with tempfile.TemporaryDirectory(prefix="pitlake-bench-") as scratch:
            figures += _measure(get(name), staged(get(name), rows, text), Path(scratch))
    return figures


def _measure(dataset: Dataset, rows: pa.Table, scratch: Path) -> list[Figure]:
    stages = iter([_stage(dataset, rows, scratch / f"lake-{number}") for number in range(ROUNDS + 1)])
    lake, stage = next(stages)
    lake.publish(stage, OBSERVED)
    published = pa.parquet.read_table(lake.snapshot().files(dataset.name)[0].path, partitioning=None)
    again = lake.stage(dataset, uuid.uuid4().hex)
    again.add(DAY, rows, extracted=len(rows))
    ours, theirs, ratio = paired(
        lambda: _publish(next(stages)), lambda: write_parquet(published, scratch / "alone.parquet"), ROUNDS
    )
    size = (scratch / "alone.parquet").stat().st_size / 1e6
    rerun, _, rerun_ratio = paired(
        lambda: lake.publish(again, OBSERVED), lambda: write_parquet(published, scratch / "alone.parquet"), 1
    )
    again.close()
    shutil.rmtree(scratch, ignore_errors=True)
    alone = f"pyarrow alone, {size / theirs:,.0f} MB/s"
    return [
        figure(f"publish {dataset.name}", size / ours, "MB/s of Parquet", baseline=alone, ratio=1 / ratio, aim=AIM),
        figure(
            f"publish {dataset.name} again, unchanged",
            size / rerun,
            "MB/s of Parquet",
            baseline=alone,
            ratio=1 / rerun_ratio,
        ),
    ]


def _stage(dataset: Dataset, rows: pa.Table, root: Path):
    lake = Lake(root)
    stage = lake.stage(dataset, uuid.uuid4().hex)
    stage.add(DAY, rows, extracted=len(rows))
    return lake, stage


def _publish(prepared) -> None:
    lake, stage = prepared
    with stage:
        assert lake.publish(stage, OBSERVED).changed


if __name__ == "__main__":
    for one in run():
        print(one)
