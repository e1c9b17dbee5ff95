"""Writes the files of a compaction: a compacted file and its companion, or merged gaps.

compacted.py explains compacted files. compact.py decides which files are merged, checks and commits them.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from pitlake.clock import AVAILABLE_AT, OBSERVED_AT
from pitlake.contract import Dataset
from pitlake.lake.storage.arrays import as_micros
from pitlake.lake.storage.files import NewFile, finished, sorted_by, take_rows, write_file
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.storage.store import Store
from pitlake.lake.tables import compacted
from pitlake.lake.tables.compacted import FEW_ROWS, OBSERVED_SCHEMA, Bound, Form, observed_table_name
from pitlake.lake.tables.delta import table_key, table_schema

GROUPS_AT_ONCE = 15
"""The row groups that are sorted and written together."""


@dataclass(frozen=True)
class Merged:
    """The merged files of a period; for rows, two files in the same order."""

    rows: NewFile
    beside: NewFile | None = None


def merge_period(store: Store, dataset: Dataset, table: str, period: str, files: list[DataFile]) -> Merged:
    """Write the rows of these files as one file."""
    form, schema = compacted.form_of(dataset, table), table_schema(dataset, table)
    if form is None:
        gaps = pa.concat_tables([_rows(schema, file) for file in files])
        order = sorted_by(gaps["partition"], as_micros(gaps[AVAILABLE_AT]))
        return Merged(write_file(store, table_key(table), period, take_rows(gaps, order)))
    by_month = table == dataset.name and len(period) == 4 and sum(file.rows for file in files) > FEW_ROWS
    starts = compacted.months_of(int(period)) if by_month else ()
    name, observed = compacted.new_name(period), list[pa.Table]()
    rows = _write(store, table, name, _split(_arranged(schema, form, files, starts), form, observed), form)
    return Merged(rows, _write(store, observed_table_name(table), name, observed, form) if observed else None)


def as_data_file(store: Store, table: str, merged: Merged) -> DataFile:
    beside = None if merged.beside is None else _as_known(store, observed_table_name(table), merged.beside)
    return replace(_as_known(store, table, merged.rows), beside=beside)


def _arranged(schema: pa.Schema, form: Form, files: list[DataFile], starts: tuple[int, ...]) -> Iterator[pa.Table]:
    """Yield all rows in parts, to be written one after the other."""
    for since, until in compacted.spans(starts, None, None):
        tables = [_rows(schema, file, since, until) for file in compacted.reaching(files, since, until)]
        yield from _in_order(_whole_columns(tables), form)


def _in_order(rows: pa.Table, form: Form) -> Iterator[pa.Table]:
    if not rows.num_rows:
        return
    order = form.positions(rows)
    for start in range(0, rows.num_rows, GROUPS_AT_ONCE * form.group_rows):
        yield take_rows(rows, order[start : start + GROUPS_AT_ONCE * form.group_rows]).combine_chunks()


def _whole_columns(tables: list[pa.Table]) -> pa.Table:
    """Return the rows of tables as one table. The list is emptied and columns are copied one by one, so that the copies
    of a large month replace its parts in memory.
    """
    if not tables:
        return pa.table({})
    whole = pa.concat_tables(tables)
    tables.clear()
    schema, columns = whole.schema, whole.columns
    del whole
    for place in range(len(columns)):
        with suppress(pa.ArrowInvalid):  # More than 2 GiB of text stays in parts.
            columns[place] = columns[place].combine_chunks()
    return pa.Table.from_arrays(columns, schema=schema)


def _split(parts: Iterable[pa.Table], form: Form, observed: list[pa.Table]) -> Iterator[pa.Table]:
    """Yield the columns that sessions may see, and append `observed_at` to `observed`."""
    for part in parts:
        if OBSERVED_AT in part.column_names:
            observed.append(part.select(OBSERVED_SCHEMA.names))
        yield part.select(form.schema.names)


def _rows(schema: pa.Schema, file: DataFile, since: Bound = None, until: Bound = None) -> pa.Table:
    """Return a file's rows from `since` to `until`, with their companions' columns."""

    def read(path: str, names: list[str]) -> pa.Table:
        with Path(path).open("rb") as source:
            return compacted.read(source, names, since, until)

    rows = read(file.path, schema.names)
    if file.beside:
        rows = rows.append_column(OBSERVED_AT, read(file.beside.path, [OBSERVED_AT])[OBSERVED_AT])
    return compacted.shaped(rows, schema)


def _write(store: Store, table: str, name: str, parts: Iterable[pa.Table], form: Form) -> NewFile:
    path = store.path(f"{table_key(table)}/{name}")
    bounds: list[pa.StructScalar] = []
    rows = 0

    def counted() -> Iterator[pa.Table]:
        nonlocal rows
        for part in parts:
            rows += part.num_rows
            bounds.append(pc.min_max(part[AVAILABLE_AT]))
            yield part

    with finished(store, path):
        compacted.write(counted(), path, form.group_rows)
    lo, hi = min(bound["min"].as_py() for bound in bounds), max(bound["max"].as_py() for bound in bounds)
    return NewFile(name, rows, path.stat().st_size, lo, hi)


def _as_known(store: Store, table: str, file: NewFile) -> DataFile:
    path = store.path(f"{table_key(table)}/{file.name}")
    return DataFile(str(path), file.rows, file.size, file.lo, file.hi)
