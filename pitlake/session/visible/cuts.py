"""Making cut files: rows of lake files up to T, written anew as a function of those rows alone.

Columns of the contract, sorted, writer settings of the rows' own, no clock: which lake files the rows came from, how
many there were and whether they were compacted does not show. Reading and writing happen in the trusted parent only.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pitlake import machine
from pitlake.clock import AVAILABLE_AT, micros
from pitlake.contract import INSTANT
from pitlake.errors import LakeFault, SessionRefused
from pitlake.lake import faults
from pitlake.lake.files import ROW_GROUP_ROWS, layout, take_rows
from pitlake.lake.manifest import DataFile
from pitlake.session.visible import footer, words
from pitlake.session.visible.plan import Period

_FORM = 4  # of the cut files; a change makes old ones unfindable


@dataclass(frozen=True, kw_only=True)
class Cut:
    """What to cut: the files of one table, whose schema is `stored`, to the columns of `schema`, sorted by `order`.

    since, until: the first and last instant to keep, None without a bound (microseconds since the epoch). bound: what
    the cut's own footer is proven against; cuts that keep every row are the same file for every T, so it is not part of
    what they are. Columns an older file lacks are null. periods: the files; many rows become a file for each, by_month
    with row groups of each month's own. parts: where the days (of tombstones: months) of T's period begin, in
    microseconds; its rows up to T, if many, become a file for each. group_rows: so many rows are read at once. indexes:
    not the rows, but which words stand in these columns of them (words.py).
    """

    table: str
    periods: tuple[Period, ...]
    stored: pa.Schema
    schema: pa.Schema
    order: tuple[str, ...]
    since: int | None = None
    until: int | None
    bound: int | None
    by_month: bool = False
    parts: tuple[int, ...] = ()
    group_rows: int = ROW_GROUP_ROWS
    indexes: tuple[str, ...] = ()

    @property
    def made(self) -> pa.Schema:
        """The schema of its files."""
        return words.SCHEMA if self.indexes else self.schema

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

    def between(self, since: int | None, until: int) -> "Cut":
        """The cut of its rows from `since` to `until`, as one file."""
        files = tuple(
            file for file in self.files if (since is None or since <= micros(file.hi)) and micros(file.lo) <= until
        )
        every = since is None and all(micros(file.hi) <= until for file in files)
        return replace(self, periods=((files,),), since=since, until=None if every else until, parts=())


FileFacts = tuple[int, int, int, int]
"""Of a file: device, inode, size, time of the last change of its content in nanoseconds."""


def facts_of(cut: Cut) -> list[FileFacts]:
    """What the file system knows of a cut's files; nothing where one is not there."""
    try:
        return [_facts(os.stat(file.path)) for file in cut.files]  # noqa: PTH116  there may be thousands
    except OSError:
        return []


def _facts(found: os.stat_result) -> FileFacts:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class Sources:
    """The files of a cut, opened once: identified, proven and read through the same descriptors.

    already: what was read of files for other cuts, by path, where several are made of the same ones.
    """

    def __init__(self, cut: Cut, already: dict[str, pa.Table] | None = None) -> None:
        self._cut, self._already = cut, already
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
        files: list[object] = []
        for file, descriptor in zip(self._cut.files, self._descriptors, strict=True):
            files.append((file.path, *_facts(os.fstat(descriptor))))
        cut = self._cut
        laid_out = [cut.by_month, cut.group_rows]
        parts = [_FORM, cut.table, str(cut.schema), cut.order, cut.since, cut.until, *laid_out, files]
        parts += [[words.FORM, *cut.indexes]] if cut.indexes else []
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def write_to(self, file: object) -> None:
        """The cut as Parquet, or its index."""
        cut = self._cut
        tables = self._by_month() if cut.by_month else [self._sorted(cut.files, self._descriptors)]
        if cut.indexes:
            words.write(tables, cut.indexes, file)
        else:
            _write(tables, file, cut.group_rows)

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
        stored = None if self._already is None else self._already.get(file.path)
        if stored is None:
            stored = self._stored(file, descriptor)
            if self._already is not None:
                self._already[file.path] = stored
        for limit, keeps in ((cut.since, pc.greater_equal), (cut.until, pc.less_equal)):
            if limit is not None:
                stored = stored.filter(keeps(stored[AVAILABLE_AT], pa.scalar(limit, pa.int64()).cast(INSTANT)))
        return stored

    def _stored(self, file: DataFile, descriptor: int) -> pa.Table:
        cut = self._cut
        with faults.translated(Path(file.path)):
            facts = footer.read(descriptor)
            if facts.fault and not facts.columns:
                raise LakeFault("damaged", file.path)
            footer.prove(facts, cut.table, None, cut.stored, file.rows)
            names = [name for name in cut.schema.names if name in facts.columns]
            with os.fdopen(os.dup(descriptor), "rb") as source:
                return _shaped(_whole(source, names, file), cut.schema)


def _whole(source: BinaryIO, names: list[str], file: DataFile) -> pa.Table:
    try:
        return pq.ParquetFile(source).read(columns=names)
    except (pa.ArrowException, OSError) as problem:
        if isinstance(problem, OSError) and problem.errno:
            raise
        raise LakeFault("damaged", file.path) from problem


def open_file(path: str | Path, table: str) -> int:
    """A file, open for reading. Raises LakeFault when it is gone or denied, SessionRefused for any other cause."""
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise LakeFault("missing", path) from None
    except OSError as problem:
        if found := machine.exhausted(problem, "the lake", path):
            raise found from None
        refused = SessionRefused(table, f"a file of this lake version can't be opened: {problem.strerror}")
        raise faults.cause(problem, Path(path)) or refused from None


def _write(tables: Iterable[pa.Table], file: object, group_rows: int) -> None:
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
            writer.write_table(rows, row_group_size=group_rows)


def _shaped(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = [
        rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema([field.remove_metadata() for field in schema]))
