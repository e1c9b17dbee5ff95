"""The time to build the tables of a publish depends on the number of rows, not on the number of months."""

import time
from dataclasses import replace

import numpy as np
import pyarrow as pa

from pitlake import clock
from pitlake.lake import Lake
from pitlake.lake.publishing.diff import AS_STAGED, NewRows
from pitlake.lake.publishing.months import months_of_rows
from pitlake.lake.publishing.stage import staged_schema
from tests.lake.world import TOY, utc

ROWS, MONTH = 200_000, 30 * 86_400_000_000
DATASET = replace(TOY, partitioned=False)
START = clock.micros(utc("2000-01-15T00:00:00Z"))


def built(lake, months):
    """Return the tables of the months, built from unordered rows, the CPU seconds that took, and the expected rows."""
    random = np.random.default_rng(0)
    columns = {
        "key": pa.array(np.arange(ROWS)).cast(pa.string()),
        "maker": pa.array(np.arange(ROWS) % 7).cast(pa.string()),
        "text": pa.repeat("x" * 200, ROWS),
        "revised": pa.nulls(ROWS, pa.timestamp("us", "UTC")),
        "available_at": pa.array(START + random.integers(0, months * MONTH, ROWS)).cast(pa.timestamp("us", "UTC")),
        "available_at_source": pa.repeat("neo4j_created", ROWS),
        "evidence": pa.repeat("Toy", ROWS),
    }
    schema = staged_schema(DATASET)
    table = pa.Table.from_arrays([columns[name].cast(schema.field(name).type) for name in schema.names], schema=schema)
    with lake.stage(DATASET, f"run-{months}") as stage:
        for start in range(0, ROWS, 20_000):
            stage.add(None, table.slice(start, 20_000), [], extracted=20_000)
        staged = stage.load()
        available = np.asarray(table["available_at"].cast(pa.int64()))
        chosen = np.flatnonzero(available % 10)  # about nine tenths of the rows
        new = NewRows(chosen, available[chosen], np.zeros(len(chosen), bool), np.full(len(chosen), AS_STAGED))
        before = time.thread_time()
        tables = [(month, build()) for month, build in months_of_rows(staged, new, utc("2024-06-01T00:00:00Z"))]
        seconds = time.thread_time() - before
        expected = table.filter(pa.array(available % 10 != 0))
        return tables, seconds, expected.sort_by([("maker", "ascending"), ("available_at", "ascending")])


def test_building_tables_for_many_months_takes_no_longer_than_for_few(tmp_path):
    _, few, _ = built(Lake(tmp_path / "few"), 12)
    tables, many, expected = built(Lake(tmp_path / "many"), 240)
    assert len(tables) > 200
    assert many < 4 * few + 0.2
    whole = pa.concat_tables(table for _, table in tables)
    names = ["key", "maker", "text", "available_at"]
    output = whole.select(names).sort_by([("maker", "ascending"), ("available_at", "ascending")])
    assert output.equals(expected.select(names).cast(output.schema))
    firsts = [(month, clock.new_york_day(table["available_at"][0].as_py())) for month, table in tables]
    assert [month for month, day in firsts if f"{day:%Y-%m}" != month] == []
