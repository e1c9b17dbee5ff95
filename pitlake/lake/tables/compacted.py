"""Compacted periods: all rows of a year or a month of a table in one file that sessions can use directly.

The bytes of such a file depend only on its rows. The rows are sorted and lack `observed_at`, which no session may see.
A second file has that column, row by row (table "observed/<dataset>"). Compaction writes such files. Until it has run,
a session's parent writes files of the same form. `upkeep/compact.py` decides which files are compacted.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from functools import lru_cache, reduce
from typing import BinaryIO
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pitlake.clock import AVAILABLE_AT, OBSERVED_AT, micros, start_of_new_york_day
from pitlake.contract import INSTANT, Dataset
from pitlake.lake.storage.arrays import as_indexes, as_numbers, instant_scalar
from pitlake.lake.storage.files import MONTH_COLUMN, ROW_GROUP_ROWS, layout, take_rows
from pitlake.lake.storage.manifest import COMPACTED, DataFile
from pitlake.tombstones import SUPERSEDED_SCHEMA, superseded_table_name

FORM = 3  # Increase this number when the layout changes; compaction then rewrites the files of earlier forms.
FEW_ROWS = 8_192
"""A period of up to this many rows is sorted as a whole; a longer period is sorted month by month."""
MOST_TEXT_BYTES = 1 << 30
"""The size of a string column that always fits into one Arrow array."""
OBSERVED_SCHEMA = pa.schema(
    [pa.field(AVAILABLE_AT, INSTANT, nullable=False), pa.field(OBSERVED_AT, INSTANT, nullable=False)]
)
_TEXTS = 4_096  # The number of rows with long strings to read together. Few rows of such a batch are selected.
Bound = int | None
"""An inclusive bound in microseconds since the epoch; None for no bound."""


@dataclass(frozen=True)
class Form:
    """The layout of a table's compacted files: their columns, their order, and the rows of a row group."""

    schema: pa.Schema
    order: tuple[str, ...]
    group_rows: int = ROW_GROUP_ROWS

    def without(self, names: frozenset[str]) -> "Form":
        """Return the same form without these columns."""
        schema = pa.schema([field for field in self.schema if field.name not in names])
        return Form(schema, tuple(name for name in self.order if name not in names), self.group_rows)

    def positions(self, rows: pa.Table) -> pa.Array:
        """Return the positions that sort rows into the form's order."""
        keys = {}
        for name in self.order:
            column = rows[name]
            # Strings are replaced by numbers in the same order, because numbers are sorted in half the time.
            if pa.types.is_string(column.type) and column.nbytes <= MOST_TEXT_BYTES:
                coded = column.combine_chunks().dictionary_encode()
                ranks = np.empty(len(coded.dictionary), np.int64)
                ranks[as_numbers(pc.sort_indices(coded.dictionary))] = np.arange(len(ranks))
                column = as_indexes(ranks).take(coded.indices)
            keys[name] = column
        return pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in self.order])

    def arranged(self, rows: pa.Table) -> pa.Table:
        """Return the rows in the form's order, in one piece."""
        return take_rows(rows, self.positions(rows)).combine_chunks()


def observed_table_name(dataset: str) -> str:
    """Return the name of the table with `observed_at` of a dataset's compacted rows."""
    return f"observed/{dataset}"


def form_of_rows(dataset: Dataset) -> Form:
    *instants, content_hash = dataset.revision_order
    # The hash is last, so that rows of one instant are sorted by their names and compress well.
    order = tuple(dict.fromkeys((dataset.entity, *instants, *dataset.identity, content_hash)))
    every = Form(dataset.arrow_schema, order, _TEXTS if dataset.searched else ROW_GROUP_ROWS)
    return every.without(frozenset({OBSERVED_AT}))


def form_of_tombstones() -> Form:
    return Form(SUPERSEDED_SCHEMA, (AVAILABLE_AT, "dead_at", "dead_hash"))


def form_of(dataset: Dataset, table: str) -> Form | None:
    """Return the layout of the compacted files of a dataset's table; None if the table is not compacted."""
    if table == dataset.name:
        return form_of_rows(dataset)
    return form_of_tombstones() if table == superseded_table_name(dataset.name) else None


def new_name(period: str) -> str:
    """Return a name for a compacted file, relative to its table."""
    return f"{MONTH_COLUMN}={period}/{COMPACTED}{FORM}-{uuid4().hex}.parquet"


def write(tables: Iterable[pa.Table], file: object, group_rows: int) -> None:
    """Write one or more tables, in order, with a layout derived from the first table."""
    with ExitStack() as stack:
        writer = None
        for rows in tables:
            if writer is None:
                writer = stack.enter_context(
                    pq.ParquetWriter(
                        file, rows.schema, store_schema=False, write_page_index=False, **layout(rows, "lz4")
                    )
                )
            writer.write_table(rows, row_group_size=group_rows)


def stored_schema(file: DataFile, schema: pa.Schema) -> pa.Schema:
    """Return the schema of a file of a table whose rows have this schema."""
    if file.form is None or OBSERVED_AT not in schema.names:
        return schema
    return schema.remove(schema.get_field_index(OBSERVED_AT))


@lru_cache(maxsize=64)
def months_of(year: int) -> tuple[int, ...]:
    """Return the starts of the months of a New York year, in microseconds since the epoch."""
    return tuple(micros(start_of_new_york_day(date(year, month + 1, 1))) for month in range(12))


def spans(starts: tuple[int, ...], since: Bound, until: Bound) -> Iterator[tuple[Bound, Bound]]:
    """Split `since` to `until` at these starts, and return the first and last instant of each part."""
    inner = [start for start in starts[1:] if (since is None or since < start) and (until is None or start <= until)]
    return zip([since, *inner], [*(start - 1 for start in inner), until], strict=True)


def reaching(files: Iterable[DataFile], since: Bound, until: Bound) -> list[DataFile]:
    """Return the files that may have rows from `since` to `until`."""
    return [
        file
        for file in files
        if (since is None or since <= micros(file.hi)) and (until is None or micros(file.lo) <= until)
    ]


def count(source: BinaryIO, since: Bound, until: Bound) -> int:
    """Return the number of a file's rows from `since` to `until`; at least one of them must be set."""
    _, mask = _wanted(pq.ParquetFile(source), since, until)
    return pc.sum(mask).as_py() or 0


def read(source: BinaryIO, names: list[str], since: Bound, until: Bound) -> pa.Table:
    """Return the rows from `since` to `until`, with the requested columns that the file has. Strings may be
    dictionary-encoded; see `shaped`.
    """
    file = pq.ParquetFile(source)
    schema = file.schema_arrow
    schema = pa.schema([schema.field(name) for name in names if name in schema.names])
    if since is None and until is None:
        return file.read(columns=schema.names, use_threads=file.num_row_groups > 1).select(schema.names)
    groups, mask = _wanted(file, since, until)
    kept_rows = pc.sum(mask).as_py()
    if not kept_rows:
        return schema.empty_table()
    if kept_rows < len(mask):
        leaves, row_groups = _leaves(file), [file.metadata.row_group(number) for number in groups]
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        # Only repeated strings are cheaper to copy from a dictionary.
        coded = [name for name in texts if all(group.column(leaves[name]).has_dictionary_page for group in row_groups)]
        file = pq.ParquetFile(source, metadata=file.metadata, read_dictionary=coded)
    rows = file.read_row_groups(groups, columns=schema.names, use_threads=len(groups) > 1).select(schema.names)
    return rows if kept_rows == len(mask) else rows.filter(mask)


def _wanted(file: pq.ParquetFile, since: Bound, until: Bound) -> tuple[list[int], pa.ChunkedArray]:
    """Return the row groups that may have rows between the two instants, and the positions of these rows."""
    instants, metadata = _leaves(file).get(AVAILABLE_AT), file.metadata
    groups = []
    for number in range(file.num_row_groups):
        bounds = None if instants is None else metadata.row_group(number).column(instants).statistics
        if bounds is not None and bounds.has_min_max:
            is_later = until is not None and bounds.min_raw > until
            if is_later or (since is not None and bounds.max_raw < since):
                continue
        groups.append(number)
    available = file.read_row_groups(groups, columns=[AVAILABLE_AT], use_threads=len(groups) > 1)[AVAILABLE_AT]
    limits = ((since, pc.greater_equal), (until, pc.less_equal))
    masks = [keeps(available, instant_scalar(limit)) for limit, keeps in limits if limit is not None]
    return groups, reduce(pc.and_, masks)


def _leaves(file: pq.ParquetFile) -> dict[str, int]:
    """Return the numbers of a file's value columns by their paths."""
    return {file.schema.column(number).path: number for number in range(file.metadata.num_columns)}


def shaped(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows with the columns of a schema; missing columns are null."""
    columns = []
    for field in schema:
        is_there = field.name in rows.column_names
        column = rows[field.name] if is_there else pa.nulls(rows.num_rows, field.type)
        columns.append(column if column.type == field.type else column.cast(field.type))
    return pa.Table.from_arrays(columns, schema=pa.schema([field.remove_metadata() for field in schema]))
