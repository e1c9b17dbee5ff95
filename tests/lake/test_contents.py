"""Comparing contents by their hashes finds exactly the staged rows that are already stored."""

from dataclasses import replace
from datetime import timedelta
from hashlib import sha256

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pitlake import clock
from pitlake.lake.publishing.contents import compare
from pitlake.lake.storage.manifest import DataFile
from tests.lake.world import utc

SINCE = utc("2024-03-05T12:00:00-05:00")
ROWS = 600_000


def hashes_of(numbers):
    """Return hashes that have the same first bits in pairs."""
    texts = ((f"pair {number // 2}", f"{number}") for number in numbers)
    return [b"".join(sha256(text.encode()).digest()[:8] for text in pair) for pair in texts]


def file_of(folder, name, numbers, lo, hi):
    path = folder / f"{name}.parquet"
    pq.write_table(pa.table({"content_hash": pa.array(hashes_of(numbers), pa.binary())}), path)
    return DataFile(str(path), len(numbers), path.stat().st_size, lo, hi)


def test_compare_finds_the_staged_rows_that_are_already_stored(tmp_path):
    numbers = np.random.default_rng(1).permutation(2 * ROWS).tolist()
    staged, stored = numbers[: ROWS + ROWS // 2], numbers[ROWS // 2 :]
    files = [
        file_of(tmp_path, "one", stored[: ROWS // 2], SINCE, SINCE + timedelta(hours=1)),
        file_of(tmp_path, "two", stored[ROWS // 2 :], SINCE + timedelta(minutes=30), SINCE + timedelta(hours=2)),
    ]
    available = np.full(len(staged), clock.micros(SINCE + timedelta(hours=1)))
    in_lake, others = compare(pa.chunked_array([hashes_of(staged)]), available, files, SINCE + timedelta(hours=2))
    assert in_lake.tolist() == [False] * (ROWS // 2) + [True] * ROWS
    assert sorted(others.to_pylist()) == sorted(hashes_of(stored[ROWS:]))
    later = [replace(file, hi=SINCE + timedelta(days=1)) for file in files]
    in_lake, others = compare(pa.chunked_array([hashes_of(staged)]), available, later, SINCE + timedelta(hours=2))
    assert not in_lake.any()
    assert len(others) == len(stored)
