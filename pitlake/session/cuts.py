"""Making cut files: rows of lake files up to T, written anew as a function of those rows alone.

Columns of the contract, sorted, writer settings of the rows' own, no clock: which lake files the rows came from, how
many there were and whether they were compacted does not show. Reading and writing happen in the trusted parent only.
Called by boundary.py, which keeps what is made here.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pitlake.clock import AVAILABLE_AT
from pitlake.contract import INSTANT
from pitlake.errors import SessionRefused
from pitlake.lake.files import ROW_GROUP_ROWS, layout, take_rows
from pitlake.lake.manifest import DataFile
from pitlake.lake.repeats import as_micros
from pitlake.session import footer
from pitlake.session.plan import Period

_FORM = 2  # of the cut files; a change makes old ones unfindable


@dataclass(frozen=True, kw_only=True)
class Cut:
    """What to cut: the files of one table, whose schema is `stored`, to the columns of `schema`, sorted by `order`.

    until: the last instant to keep, None for every row (microseconds since the epoch). bound: what the cut's own footer
    is proven against; cuts that keep every row are the same file for every T, so it is no part of what they are.
    Columns an older file lacks are null. periods: the files; many rows become a file for each, by_month with row groups
    of each month's own. parts: where the days (of tombstones: months) of T's period begin, in microseconds; its rows,
    if many, become a file for each.
    """

    table: str
    periods: tuple[Period, ...]
    stored: pa.Schema
    schema: pa.Schema
    order: tuple[str, ...]
    until: int | None
    bound: int | None
    by_month: bool = False
    parts: tuple[int, ...] = ()

    @cached_property
    def months(self) -> list[tuple[DataFile, ...]]:
        """Its files, month by month."""
        return [month for period in self.periods for month in period]

    @cached_property
    def files(self) -> list[DataFile]:
        """Its files."""
        return [file for month in self.months for file in month]

    @cached_property
    def rows(self) -> int:
        """How many rows its files hold."""
        return sum(file.rows for file in self.files)


class Sources:
    """The files of a cut, opened once: identified, proven and read through the same descriptors."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut
        self._descriptors: list[int] = []

    def __enter__(self) -> Self:
        try:
            for file in self._cut.files:
                self._descriptors.append(open_file(file.path, self._cut.table))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        while self._descriptors:
            os.close(self._descriptors.pop())

    def identity(self) -> str:
        """A name for what the cut would hold: the same name, the same bytes."""
        files = []
        for file, descriptor in zip(self._cut.files, self._descriptors, strict=True):
            facts = os.fstat(descriptor)
            files.append((file.path, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns))
        cut = self._cut
        parts = [_FORM, cut.table, str(cut.schema), cut.order, cut.until, cut.by_month, cut.parts, files]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def write_to(self, file: object) -> None:
        """The cut as Parquet."""
        _write(self._by_month() if self._cut.by_month else [self._sorted(self._cut.files, self._descriptors)], file)

    def write_parts(self, folder: Path) -> None:
        """A file for each part with rows, named after where it begins; its rows lie in it as in a cut of them alone."""
        rows = self._sorted(self._cut.files, self._descriptors)
        starts = np.array(self._cut.parts)
        part = np.maximum(np.searchsorted(starts, as_micros(rows[AVAILABLE_AT]), side="right") - 1, 0)
        rows = rows.take(pa.array(np.argsort(part, kind="stable")))
        first = 0
        for start, count in zip(starts, np.bincount(part, minlength=len(starts)).tolist(), strict=True):
            if count:
                with (folder / f"{start}.parquet").open("wb") as file:
                    _write([rows.slice(first, count)], file)
            first += count

    def _by_month(self) -> Iterator[pa.Table]:
        """Month by month, so that no more than one is in memory."""
        first = 0
        for files in self._cut.months:
            yield self._sorted(files, self._descriptors[first : first + len(files)])
            first += len(files)

    def _sorted(self, files: Sequence[DataFile], descriptors: Sequence[int]) -> pa.Table:
        cut = self._cut
        found = [self._read(file, at) for file, at in zip(files, descriptors, strict=True)]
        rows = pa.concat_tables(found) if found else cut.schema.empty_table()
        keys = [(name, "ascending") for name in cut.order]
        return take_rows(rows, pc.sort_indices(rows, sort_keys=keys)).combine_chunks()

    def _read(self, file: DataFile, descriptor: int) -> pa.Table:
        cut = self._cut
        facts = footer.read(descriptor)
        footer.prove(facts, cut.table, None, cut.stored, file.rows)
        with os.fdopen(os.dup(descriptor), "rb") as source:
            stored = pq.ParquetFile(source).read(columns=[name for name in cut.schema.names if name in facts.columns])
        if cut.until is not None:
            limit = pa.scalar(cut.until, pa.int64()).cast(INSTANT)
            stored = stored.filter(pc.less_equal(stored[AVAILABLE_AT], limit))
        return _shaped(stored, cut.schema)


def open_file(path: str | Path, table: str) -> int:
    """A file, open for reading. Raises SessionRefused when it is gone."""
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as problem:
        raise SessionRefused(table, f"a file of this lake version can't be opened: {problem.strerror}") from None


def _write(tables: Iterable[pa.Table], file: object) -> None:
    """At least one table; how all are written is told from the first."""
    with ExitStack() as open_writers:
        writer = None
        for rows in tables:
            if writer is None:
                writer = open_writers.enter_context(
                    pq.ParquetWriter(
                        file, rows.schema, store_schema=False, write_page_index=False, **layout(rows, "lz4")
                    )
                )
            writer.write_table(rows, row_group_size=ROW_GROUP_ROWS)


def _shaped(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = [
        rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema([field.remove_metadata() for field in schema]))
