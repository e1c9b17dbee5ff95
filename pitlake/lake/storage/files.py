"""A Parquet file: how rows are sorted, written and forced to disk, and the facts that the lake stores about the file.

Publish and compact decide which rows go into which file. This module commits nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pitlake import clock
from pitlake.lake.storage.arrays import Positions, as_indexes, as_numbers
from pitlake.lake.storage.store import Store

MONTH_COLUMN = "available_month"
ROW_GROUP_ROWS = 32_768
"""DuckDB skips whole row groups by their bounds. With smaller groups it would read fewer rows of other companies, but
more bounds.
"""
USELESS_BOUNDS = frozenset({"content_hash", "dead_hash", "evidence"})
INCOMPRESSIBLE = frozenset({"content_hash", "dead_hash"})
SHOWN_ONLY = frozenset({"evidence", "url", "value"})
"""Strings that answers show and questions rarely search. For them, small files matter more than quick decoding."""
SHOWN_LEVEL = 3
"""The zstd level of SHOWN_ONLY. Higher levels would slow down opening a session at a new instant."""
SAMPLE_ROWS = 1_024
MOST_DISTINCT = 0.9
LONG_VALUE_BYTES = 256
PAGE_BYTES = 1 << 16
"""The size of a page, the least that a question decompresses. Rows of one company are in few pages of a column."""


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file on disk that is not in any commit yet. `name` is relative to its table; `lo` and `hi` are exact."""

    name: str
    rows: int
    size: int
    lo: datetime
    hi: datetime

    @property
    def month(self) -> str:
        """Return the New York month of the file's folder."""
        return month_of_file(self.name)


def month_of_file(name: str) -> str:
    """Return the New York month in a file's relative name."""
    return name.split("/", 1)[0].removeprefix(f"{MONTH_COLUMN}=")


def sorted_by(entity: pa.ChunkedArray, available: Positions) -> Positions:
    """Return the positions that sort rows by (entity, available_at). Entities are sorted by their bytes, null first."""
    encoded = entity.combine_chunks().dictionary_encode()
    rank_of_code = np.empty(len(encoded.dictionary) + 1, np.int64)
    rank_of_code[0] = 0
    rank_of_code[as_numbers(pc.sort_indices(encoded.dictionary)) + 1] = np.arange(1, len(encoded.dictionary) + 1)
    codes = encoded.indices.fill_null(-1) if encoded.indices.null_count else encoded.indices
    ranks = rank_of_code[codes.to_numpy(zero_copy_only=False) + 1]
    since = available - available.min()
    span = int(since.max()) + 1
    if len(rank_of_code) * span < 2**62:  # One integer sorts many times faster than two keys.
        return np.argsort(ranks * span + since, kind="stable")
    return np.lexsort((since, ranks))


def take_rows(table: pa.Table, positions: Positions) -> pa.Table:
    """Return the rows at these positions, in that order. More than 2 GiB of text is returned in several chunks, because
    one Arrow array can't hold it.
    """
    try:
        return table.take(as_indexes(positions))
    except pa.ArrowInvalid:
        wide = [
            field.with_type(pa.large_string()) if pa.types.is_string(field.type) else field for field in table.schema
        ]
        return _take_narrow(table.cast(pa.schema(wide)), positions, table.schema)


def _take_narrow(wide: pa.Table, positions: Positions, schema: pa.Schema) -> pa.Table:
    try:
        return wide.take(as_indexes(positions)).cast(schema)
    except pa.ArrowInvalid:
        if len(positions) < 2:
            raise
        halves = np.array_split(positions, 2)
        return pa.concat_tables([_take_narrow(wide, half, schema) for half in halves])


def write_file(store: Store, table: str, month: str, rows: pa.Table) -> NewFile:
    """Write sorted rows as one file of a table's month and force it to disk."""
    name = f"{MONTH_COLUMN}={month}/{uuid4().hex}.parquet"
    path = store.path(f"{table}/{name}")
    with finished(store, path):
        write_parquet(rows, path)
    bounds = pc.min_max(rows[clock.AVAILABLE_AT])
    lo, hi = bounds["min"].as_py(), bounds["max"].as_py()
    return NewFile(name, rows.num_rows, path.stat().st_size, lo, hi)


@contextmanager
def finished(store: Store, path: Path) -> Iterator[None]:
    """Force the file written in this block to disk at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
        store.keep(path)
    except BaseException:
        path.unlink(missing_ok=True)  # An incomplete file is useless, and the disk may be full.
        raise


def write_parquet(rows: pa.Table, path: Path) -> None:
    """Write one Parquet file in the lake's format."""
    pq.write_table(rows, path, row_group_size=ROW_GROUP_ROWS, **layout(rows, "zstd"))


def layout(rows: pa.Table, codec: str) -> dict[str, Any]:
    """Return the options of pyarrow's writers for these rows. Only columns whose values repeat have a dictionary, and
    compression and bounds are used only where they help. The result does not depend on the rows' memory layout.

    codec: the compression of columns that questions read.
    """
    leaves = {
        _leaf(field): name not in USELESS_BOUNDS for name, field in zip(rows.column_names, rows.schema, strict=True)
    }
    few = rows.num_rows < SAMPLE_ROWS  # The choice hardly matters for a few rows.
    coded = {*rows.column_names} - INCOMPRESSIBLE if few else {*_repeating(rows)}
    plain = [field for field in rows.schema if field.name not in coded]
    return {
        "data_page_size": PAGE_BYTES,
        "compression": {
            leaf: "none" if leaf in INCOMPRESSIBLE else "zstd" if leaf in SHOWN_ONLY else codec for leaf in leaves
        },
        "compression_level": {leaf: SHOWN_LEVEL for leaf in leaves if leaf in SHOWN_ONLY},
        "use_dictionary": [_leaf(field) for field in rows.schema if field.name in coded],
        "column_encoding": {_leaf(field): encoding for field in plain if (encoding := _encoding(field))},
        "write_statistics": [leaf for leaf, bounded in leaves.items() if bounded],
    }


def _encoding(field: pa.Field) -> str | None:
    """Return the encoding of strings that don't repeat; None for Parquet's own choice.

    Lengths that are stored apart from their strings compress better. Evidence starts like the previous row's, so only
    the length of the common start is stored.
    """
    if field.name == "evidence":
        return "DELTA_BYTE_ARRAY"
    kind = field.type.value_type if pa.types.is_list(field.type) else field.type
    return "DELTA_LENGTH_BYTE_ARRAY" if pa.types.is_string(kind) or pa.types.is_binary(kind) else None


def _leaf(field: pa.Field) -> str:
    """Return the Parquet name of a column's values."""
    return f"{field.name}.list.element" if pa.types.is_list(field.type) else str(field.name)


def _repeating(rows: pa.Table) -> list[str]:
    """Return the columns whose values repeat enough to use a dictionary, according to a sample. Long strings never do.

    The sample consists of pairs of neighbours, because a column of runs, such as the companies in sorted rows, repeats
    even if it has many values. A question about one company reads its dictionary five times as fast.
    """
    short = []
    for name in rows.column_names:
        values = _values(rows[name])
        text_bytes = (pc.sum(pc.binary_length(values)).as_py() or 0) if pa.types.is_string(values.type) else 0
        if text_bytes <= LONG_VALUE_BYTES * rows.num_rows:
            short.append(name)
    firsts = np.linspace(0, rows.num_rows - 2, SAMPLE_ROWS // 2, dtype=np.int64)
    sample = rows.select(short).take(as_indexes(np.concatenate([firsts, firsts + 1])))
    repeating = []
    for name in short:
        values = _values(sample[name])
        distinct = len(values.unique()) - (values.null_count > 0)
        if distinct <= MOST_DISTINCT * len(values):
            repeating.append(name)
    return repeating


def _values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.list_flatten(column) if pa.types.is_list(column.type) else column


def floor_millis(moment: datetime) -> datetime:
    """Return the start of an instant's millisecond, the precision of Delta statistics."""
    return moment - timedelta(microseconds=moment.microsecond % 1000)


def ceil_millis(moment: datetime) -> datetime:
    """Return the first whole millisecond at or after an instant."""
    return floor_millis(moment + timedelta(microseconds=999))
