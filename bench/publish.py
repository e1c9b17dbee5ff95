"""The cost of publishing: MB per CPU second from rows in memory to a visible version, relative to pyarrow writing the
same file.

Two shapes are measured: facts (short strings and numbers) and news (long texts). The cost includes staging, hashing,
the audit, sorting, writing, syncing, the commit and its verification. pyarrow gets the rows in the order and layout of
the lake's file; a second figure includes sorting. Both files are read back and must equal the staged rows.
"""

import shutil
import tempfile
import uuid
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.figures import Figure, figure, paired, processor
from pitlake.clock import start_of_new_york_day
from pitlake.contract import Dataset
from pitlake.datasets import get
from pitlake.lake import Lake
from pitlake.lake.publishing.stage import staged_schema
from pitlake.lake.storage.files import write_parquet

DAY = date(2024, 5, 16)
OBSERVED = datetime(2026, 1, 1, tzinfo=timezone.utc)
ROUNDS = 5
AIMS = {"xbrl_facts": "≥ 0.5", "news": "≥ 0.6"}


def staged(dataset: Dataset, rows: int, text: int = 0, seed: int = 1) -> pa.Table:
    """Return `rows` rows of a dataset on one day. text: the length of each long text column, in characters."""
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


def run(facts: int = 500_000, news: int = 40_000) -> list[Figure]:
    """Measure a first publish of both shapes, and a second run that finds nothing new."""
    figures = []
    for name, rows, text in (("xbrl_facts", facts, 0), ("news", news, 3_000)):
        with tempfile.TemporaryDirectory(prefix="pitlake-bench-") as scratch:
            figures += _measure(get(name), staged(get(name), rows, text), Path(scratch))
    return figures


def _measure(dataset: Dataset, rows: pa.Table, scratch: Path) -> list[Figure]:
    lake = _publish(dataset, rows, scratch / "warm")
    due = _published(lake, dataset)
    assert due.select(rows.column_names).cast(rows.schema).sort_by("evidence").equals(rows.sort_by("evidence"))
    came = due.sort_by("evidence")  # in the order of arrival, with the lake's additional columns
    in_order = [(dataset.entity, "ascending"), ("available_at", "ascending")]
    alone, lake_roots = scratch / "alone.parquet", iter([scratch / f"lake-{number}" for number in range(2 * ROUNDS)])

    def against(label: str, theirs: Callable[[], None], aim: str = "") -> Figure:
        lakes: list[Lake] = []
        ours, other, ratio = paired(
            lambda: lakes.append(_publish(dataset, rows, next(lake_roots))), theirs, ROUNDS, processor()
        )
        assert all(_published(root, dataset).equals(due) for root in lakes)
        assert pa.parquet.read_table(alone, partitioning=None).equals(due)
        for root in lakes:
            shutil.rmtree(root.root)
        size = alone.stat().st_size / 1e6
        baseline = f"{label}, {size / other:,.0f} MB/s"
        name = f"stage and publish {dataset.name}"
        return figure(name, size / ours, "MB/s of CPU", baseline=baseline, ratio=1 / ratio, aim=aim)

    figures = [
        against("pyarrow alone", lambda: write_parquet(due, alone), AIMS[dataset.name]),
        against("pyarrow, sorting first", lambda: write_parquet(came.sort_by(in_order), alone)),
    ]
    again, _, ratio = paired(lambda: _again(dataset, rows, lake), lambda: write_parquet(due, alone), 1, processor())
    size = alone.stat().st_size / 1e6
    name = f"stage and publish {dataset.name} again, unchanged"
    return [*figures, figure(name, size / again, "MB/s of CPU", baseline="pyarrow alone", ratio=1 / ratio)]


def _publish(dataset: Dataset, rows: pa.Table, root: Path) -> Lake:
    lake = Lake(root)
    with lake.stage(dataset, uuid.uuid4().hex) as stage:
        stage.add(DAY, rows, extracted=len(rows))
        assert lake.publish(stage, OBSERVED).total.published == len(rows)
    return lake


def _again(dataset: Dataset, rows: pa.Table, lake: Lake) -> None:
    with lake.stage(dataset, uuid.uuid4().hex) as stage:
        stage.add(DAY, rows, extracted=len(rows))
        assert lake.publish(stage, OBSERVED).total.unchanged == len(rows)


def _published(lake: Lake, dataset: Dataset) -> pa.Table:
    (file,) = lake.snapshot().files(dataset.name)
    return pa.parquet.read_table(file.path, partitioning=None)


if __name__ == "__main__":
    for line in run():
        print(line)
