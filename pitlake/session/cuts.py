"""Making cut files: rows of lake files up to T, written anew as a function of those rows alone.

Columns of the contract, sorted, fixed writer settings, no clock: which lake files the rows came from does not show.
Reading and writing happen in the trusted parent only. Called by boundary.py, which keeps what is made here.
"""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pitlake.clock import AVAILABLE_AT
from pitlake.contract import INSTANT
from pitlake.errors import SessionRefused
from pitlake.lake.manifest import DataFile
from pitlake.lake.repeats import as_micros
from pitlake.session import footer

_FORM = 1  # of the cut files; a change makes old ones unfindable


@dataclass(frozen=True, kw_only=True)
class Cut:
    """What to cut: the files of one table, whose schema is `stored`, to the columns of `schema`, sorted by `order`.

    until: the last instant to keep, None for every row (microseconds since the epoch). bound: what the cut's own footer
    is proven against; cuts that keep every row are the same file for every T, so it is no part of what they are.
    repeated: columns with few values, worth a dictionary. Columns an older file lacks are null. parts: where the days
    (of tombstones: months) of T's period begin, in microseconds; many rows become a file for each.
    """

    table: str
    files: tuple[DataFile, ...]
    stored: pa.Schema
    schema: pa.Schema
    order: tuple[str, ...]
    repeated: tuple[str, ...]
    until: int | None
    bound: int | None
    parts: tuple[int, ...] = ()

    @property
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
        parts = [_FORM, cut.table, str(cut.schema), cut.order, cut.repeated, cut.until, cut.parts, files]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def write_to(self, file: object) -> None:
        """The cut as Parquet."""
        self._write(self._rows(), file)

    def write_parts(self, folder: Path) -> None:
        """A file for each part with rows, named after where it begins; its rows lie in it as in a cut of them alone."""
        rows = self._rows()
        starts = np.array(self._cut.parts)
        part = np.maximum(np.searchsorted(starts, as_micros(rows[AVAILABLE_AT]), side="right") - 1, 0)
        rows = rows.take(pa.array(np.argsort(part, kind="stable")))
        first = 0
        for start, count in zip(starts, np.bincount(part, minlength=len(starts)).tolist(), strict=True):
            if count:
                with (folder / f"{start}.parquet").open("wb") as file:
                    self._write(rows.slice(first, count), file)
            first += count

    def _rows(self) -> pa.Table:
        cut = self._cut
        found = [self._read(file, at) for file, at in zip(cut.files, self._descriptors, strict=True)]
        rows = pa.concat_tables(found) if found else cut.schema.empty_table()
        keys = [(name, "ascending") for name in cut.order]
        return rows.take(pc.sort_indices(rows, sort_keys=keys))

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

    def _write(self, rows: pa.Table, file: object) -> None:
        pq.write_table(
            rows.combine_chunks(),
            file,
            compression="lz4",
            use_dictionary=list(self._cut.repeated),
            store_schema=False,
            write_page_index=False,
        )


def open_file(path: str | Path, table: str) -> int:
    """A file, open for reading. Raises SessionRefused when it is gone."""
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as problem:
        raise SessionRefused(table, f"a file of this lake version can't be opened: {problem.strerror}") from None


def _shaped(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = [
        rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema([field.remove_metadata() for field in schema]))
