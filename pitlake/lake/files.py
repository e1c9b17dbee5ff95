"""One Parquet file: how rows are ordered, written and forced to disk, and what the lake notes about the file.

Which rows go into which file is decided elsewhere (publish, compact). Nothing here commits anything.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pitlake import clock
from pitlake.lake.repeats import Positions
from pitlake.lake.store import Store

MONTH_COLUMN = "available_month"
# DuckDB prunes by row group; at its own size one ticker of a month costs one group, not the file.
ROW_GROUP_ROWS = 122_880
UNIQUE_COLUMNS = frozenset({"content_hash", "evidence"})


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that is on disk and in no commit yet. `name` is relative to its table; `lo` and `hi` are exact."""

    name: str
    rows: int
    size: int
    lo: datetime
    hi: datetime

    @property
    def month(self) -> str:
        """The New York month the file's folder stands for."""
        return month_of_file(self.name)


def month_of_file(name: str) -> str:
    """The New York month in a file's relative name."""
    return name.split("/", 1)[0].removeprefix(f"{MONTH_COLUMN}=")


def sorted_by(entity: pa.ChunkedArray, available: Positions) -> Positions:
    """The positions that order rows by (entity, available_at); entities by their bytes, null first."""
    encoded = entity.combine_chunks().dictionary_encode()
    rank_of_code = np.empty(len(encoded.dictionary) + 1, np.int64)
    rank_of_code[0] = 0
    rank_of_code[pc.sort_indices(encoded.dictionary).to_numpy() + 1] = np.arange(1, len(encoded.dictionary) + 1)
    ranks = rank_of_code[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False) + 1]
    since = available - available.min()
    span = int(since.max()) + 1
    if len(rank_of_code) * span < 2**62:  # one integer sorts many times faster than two keys
        return np.argsort(ranks * span + since, kind="stable")
    return np.lexsort((since, ranks))


def write_file(store: Store, table: str, month: str, rows: pa.Table) -> NewFile:
    """Write rows (already in order) as one file of a table's month and force it to disk."""
    name = f"{MONTH_COLUMN}={month}/{uuid4().hex}.parquet"
    path = store.path(f"{table}/{name}")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_parquet(rows, path)
    store.sync(path, path.parent)
    bounds = pc.min_max(rows[clock.AVAILABLE_AT])
    lo, hi = bounds["min"].as_py(), bounds["max"].as_py()
    return NewFile(name, rows.num_rows, path.stat().st_size, lo, hi)


def write_parquet(rows: pa.Table, path: Path) -> None:
    """Write one Parquet file the way the lake keeps all of them: zstd, DuckDB-sized row groups, no dictionary and no
    compression where values never repeat.
    """
    pq.write_table(
        rows,
        path,
        row_group_size=ROW_GROUP_ROWS,
        compression={name: "none" if name == "content_hash" else "zstd" for name in rows.column_names},
        use_dictionary=[name for name in rows.column_names if name not in UNIQUE_COLUMNS],
        write_statistics=[name for name in rows.column_names if name not in UNIQUE_COLUMNS],
    )


def floor_millis(moment: datetime) -> datetime:
    """The start of the millisecond an instant lies in: Delta statistics keep no more."""
    return moment - timedelta(microseconds=moment.microsecond % 1000)


def ceil_millis(moment: datetime) -> datetime:
    """The first whole millisecond at or after an instant."""
    return floor_millis(moment + timedelta(microseconds=999))
