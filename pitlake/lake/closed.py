"""Closed periods: all rows of a year or a month of a table as one file that sessions may be given as it lies.

A function of its rows alone: sorted, in a layout of the rows' own, without `observed_at`, which no session may see and
which lies beside it (table "observed/<dataset>"), row by row. Compaction leaves such files; what it has not closed yet,
a session's parent makes in the same form. Nothing here says which files are to be closed.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from functools import lru_cache, partial, reduce
from typing import BinaryIO
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pitlake.clock import AVAILABLE_AT, OBSERVED_AT, micros, start_of_new_york_day
from pitlake.contract import INSTANT, Dataset
from pitlake.lake.files import MONTH_COLUMN, ROW_GROUP_ROWS, layout, take_rows
from pitlake.lake.manifest import CLOSED, DataFile
from pitlake.tombstones import SUPERSEDED_SCHEMA, superseded_table_name

FORM = 4  # of these files; a change makes those of before sources like any other
FEW_ROWS = 8_192
"""A period of so many rows is sorted as a whole, a longer one month by month."""
OBSERVED_SCHEMA = pa.schema(
    [pa.field(AVAILABLE_AT, INSTANT, nullable=False), pa.field(OBSERVED_AT, INSTANT, nullable=False)]
)
_TEXTS = 4_096  # rows of long texts, of which few are shown, that are read at once
Bound = int | None
"""An instant in microseconds since the epoch, included; None for no bound."""


@dataclass(frozen=True)
class Form:
    """How the closed files of a table are made: their columns, what they are sorted by, rows that are read at once."""

    schema: pa.Schema
    order: tuple[str, ...]
    group_rows: int = ROW_GROUP_ROWS

    def without(self, names: frozenset[str]) -> "Form":
        """The same, without these columns."""
        schema = pa.schema([field for field in self.schema if field.name not in names])
        return Form(schema, tuple(name for name in self.order if name not in names), self.group_rows)

    def arranged(self, rows: pa.Table) -> pa.Table:
        """Rows in order, in one piece."""
        keys = [(name, "ascending") for name in self.order]
        return take_rows(rows, pc.sort_indices(rows, sort_keys=keys)).combine_chunks()


def observed_table_name(dataset: str) -> str:
    """The lake's table of when the rows of a dataset's closed files were observed."""
    return f"observed/{dataset}"


def form_of_rows(dataset: Dataset) -> Form:
    """The form of a dataset's rows."""
    order = tuple(dict.fromkeys((dataset.entity, *dataset.revision_order, *dataset.identity)))
    every = Form(dataset.arrow_schema, order, _TEXTS if dataset.searched else ROW_GROUP_ROWS)
    return every.without(frozenset({OBSERVED_AT}))


def form_of_tombstones() -> Form:
    """The form of a dataset's tombstones."""
    return Form(SUPERSEDED_SCHEMA, (AVAILABLE_AT, "dead_at", "dead_hash"))


def form_of(dataset: Dataset, table: str) -> Form | None:
    """The form of one of a dataset's tables; None for one whose periods are not closed."""
    if table == dataset.name:
        return form_of_rows(dataset)
    return form_of_tombstones() if table == superseded_table_name(dataset.name) else None


def new_name(period: str) -> str:
    """A name for a closed file, relative to its table."""
    return f"{MONTH_COLUMN}={period}/{CLOSED}{FORM}-{uuid4().hex}.parquet"


def write(tables: Iterable[pa.Table], file: object, group_rows: int) -> None:
    """Write at least one table, one after the other; how is told from the first."""
    with ExitStack() as opened:
        writer = None
        for rows in tables:
            if writer is None:
                writer = opened.enter_context(
                    pq.ParquetWriter(
                        file, rows.schema, store_schema=False, write_page_index=False, **layout(rows, "lz4")
                    )
                )
            writer.write_table(rows, row_group_size=group_rows)


def stored_schema(file: DataFile, schema: pa.Schema) -> pa.Schema:
    """The schema of a file of a table whose rows have this one."""
    if file.form is None or OBSERVED_AT not in schema.names:
        return schema
    return schema.remove(schema.get_field_index(OBSERVED_AT))


@lru_cache(maxsize=64)
def months_of(year: int) -> tuple[int, ...]:
    """The starts of the months of a New York year, in microseconds since the epoch."""
    return tuple(micros(start_of_new_york_day(date(year, month + 1, 1))) for month in range(12))


def spans(starts: tuple[int, ...], since: Bound, until: Bound) -> Iterator[tuple[Bound, Bound]]:
    """From `since` to `until` in parts: the first and last instant of each. starts: where the parts begin."""
    inner = [start for start in starts[1:] if (since is None or since < start) and (until is None or start <= until)]
    return zip([since, *inner], [*(start - 1 for start in inner), until], strict=True)


def reaching(files: Iterable[DataFile], since: Bound, until: Bound) -> list[DataFile]:
    """Those of the files that may have rows from `since` to `until`."""
    return [
        file
        for file in files
        if (since is None or since <= micros(file.hi)) and (until is None or micros(file.lo) <= until)
    ]


def read(source: BinaryIO, names: list[str], since: Bound, until: Bound) -> pa.Table:
    """Those of these columns that a file has, of its rows from `since` to `until`."""
    file = pq.ParquetFile(source)
    names = [name for name in names if name in file.schema_arrow.names]
    groups = [
        number for number in range(file.num_row_groups) if _may_hold(file.metadata.row_group(number), since, until)
    ]
    read_groups = partial(file.read_row_groups, groups, use_threads=len(groups) > 1)
    if since is None and until is None:
        return read_groups(columns=names).select(names)
    wanted = _within(read_groups(columns=[AVAILABLE_AT])[AVAILABLE_AT], since, until)
    if not pc.any(wanted).as_py():
        return file.schema_arrow.empty_table().select(names)
    return read_groups(columns=names).select(names).filter(wanted)


def _within(instants: pa.ChunkedArray, since: Bound, until: Bound) -> pa.ChunkedArray:
    """Which of these instants lie between the two."""
    limits = ((since, pc.greater_equal), (until, pc.less_equal))
    kept = [keeps(instants, pa.scalar(limit, pa.int64()).cast(INSTANT)) for limit, keeps in limits if limit is not None]
    return reduce(pc.and_, kept)


def shaped(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows with the columns of a schema, null where they lack one."""
    columns = [
        rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema([field.remove_metadata() for field in schema]))


def _may_hold(group: pq.RowGroupMetaData, since: Bound, until: Bound) -> bool:
    columns = (group.column(number) for number in range(group.num_columns))
    found = next((one.statistics for one in columns if one.path_in_schema == AVAILABLE_AT), None)
    if found is None or not found.has_min_max:
        return True
    return (since is None or found.max_raw >= since) and (until is None or found.min_raw <= until)
