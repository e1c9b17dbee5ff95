"""Makes cut files: rows of lake files up to T, written so that each file depends only on its rows.

A cut file has the contract's columns and sorted rows. The writer's settings depend on the rows, and the clock is not
used. The result does not reveal from which lake files the rows came, how many there were, or whether they were
compacted. Only the trusted parent uses this module.
"""

import hashlib
import json
import os
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import BinaryIO, Self, TypeVar

import numpy as np
import pyarrow as pa

from pitlake import machine
from pitlake.clock import AVAILABLE_AT, micros
from pitlake.errors import LakeFault, SessionRefused
from pitlake.lake.storage import faults
from pitlake.lake.storage.arrays import as_micros, as_numbers
from pitlake.lake.storage.files import take_rows
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.tables import compacted
from pitlake.lake.tables.compacted import Bound, Form
from pitlake.session.visible import footer, mapped, words
from pitlake.session.visible.plan import Period

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, kw_only=True)
class Cut:
    """The description of a cut: the files of one table, whose schema is `stored`, become files of this form.

    since, until: the first and last instant to keep, None without a bound (microseconds since the epoch). bound: the
    instant against which the cut's footer is proven. The bound is not part of the cut's identity, because a cut that
    keeps every row is the same file for every T. Columns that an older file lacks are null. periods: the files; many
    rows become one file per period. parts: the starts of the days (for tombstones: months) of T's period; many rows up
    to T are cut there. groups: the starts of the parts of a file that are each sorted and have their own row groups.
    Both are in microseconds. indexes: index the words of these columns instead of writing rows (words.py). mapped:
    write Arrow files instead of Parquet (mapped.py).
    """

    table: str
    periods: tuple[Period, ...]
    stored: pa.Schema
    form: Form
    since: Bound = None
    until: Bound
    bound: Bound
    parts: tuple[int, ...] = ()
    groups: tuple[int, ...] = ()
    indexes: tuple[str, ...] = ()
    mapped: bool = False

    @property
    def file_schema(self) -> pa.Schema:
        return words.SCHEMA if self.indexes else self.form.schema

    @cached_property
    def files(self) -> list[DataFile]:
        """Return the files without duplicates."""
        return list(dict.fromkeys(file for period in self.periods for file in period.files))

    @cached_property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def keeps_all(self) -> bool:
        """Return whether the cut keeps all rows of its files."""
        return self.since is None and self.until is None

    def of_period(self, period: Period) -> "Cut":
        """Return the cut of a single period, as one file."""
        since = self.since if period.since is None else period.since
        until = self.until if period.until is None else period.until
        return replace(self, periods=(period,), since=since, until=until)

    def between(self, since: Bound, until: int, groups: tuple[int, ...] = ()) -> "Cut":
        """Return the cut of the rows from `since` to `until`, as one file with these groups."""
        files = tuple(compacted.reaching(self.files, since, until))
        every = since is None and all(micros(file.hi) <= until for file in files)
        end = None if every else until
        return replace(self, periods=(Period(files),), since=since, until=end, parts=(), groups=groups)


FileFacts = tuple[int, int, int, int]
"""The facts of a file: device, inode, size, and the time of its last change in content in nanoseconds."""


def facts_of(cut: Cut) -> list[FileFacts]:
    """Return the file system's facts of a cut's files; nothing if one is missing."""
    try:
        return [_facts(os.stat(file.path)) for file in cut.files]  # noqa: PTH116  there may be thousands
    except OSError:
        return []


def _facts(stat: os.stat_result) -> FileFacts:
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


class RowsByDay:
    """Rows of a file by day, sorted within each day. starts: the starts of the days after the first."""

    def __init__(self, rows: pa.Table, form: Form, starts: tuple[int, ...]) -> None:
        self._starts = starts
        days = np.searchsorted(starts, as_micros(rows[AVAILABLE_AT]), "right").astype(np.int16)
        in_order = as_numbers(form.positions(rows))
        by_day = in_order[np.argsort(days[in_order], kind="stable")]
        self._rows, self._days = take_rows(rows, by_day), days[by_day]
        self._instants = as_micros(self._rows[AVAILABLE_AT])

    def between(self, since: Bound, until: Bound) -> pa.Table:
        """Return the rows from the day of `since` to the day of `until`, none of them after `until`."""
        first, after = self._places(since, until)
        rows, instants = self._rows.slice(first, after - first), self._instants[first:after]
        if until is None or not len(instants) or instants.max() <= until:
            return rows
        return take_rows(rows, np.flatnonzero(instants <= until))

    def count(self, since: Bound, until: Bound) -> int:
        """Return the number of rows that `between` returns."""
        first, after = self._places(since, until)
        return after - first if until is None else int((self._instants[first:after] <= until).sum())

    def _places(self, since: Bound, until: Bound) -> tuple[int, int]:
        first = 0 if since is None else np.searchsorted(self._days, self._day(since), "left")
        after = len(self._days) if until is None else np.searchsorted(self._days, self._day(until), "right")
        return int(first), int(after)

    def _day(self, moment: int) -> int:
        return bisect_right(self._starts, moment)


class AlreadyRead:
    """Rows that were read for several cuts of days between `since` and `until`.

    starts: the starts of the days after the first, in microseconds since the epoch like the bounds. A day that contains
    a bound is cut there.
    """

    def __init__(self, starts: tuple[int, ...], since: Bound, until: Bound) -> None:
        self.starts, self.since, self.until = starts, since, until
        self._rows: dict[tuple[str, FileFacts], RowsByDay] = {}
        self._lock = threading.Lock()

    def is_one_day(self, since: Bound, until: Bound) -> bool:
        """Return whether both instants are in the same day."""
        first = 0 if since is None else bisect_right(self.starts, since)
        return first == (len(self.starts) if until is None else bisect_right(self.starts, until))

    def of(self, file: tuple[str, FileFacts], form: Form, read: Callable[[Bound, Bound], pa.Table]) -> RowsByDay:
        """Return the rows of a file, which `read` reads the first time."""
        with self._lock:
            if file not in self._rows:
                self._rows[file] = RowsByDay(read(self.since, self.until), form, self.starts)
            return self._rows[file]


class Sources:
    """The files of a cut, opened once. They are identified, proven and read through the same descriptors.

    already: rows of the files that were read for other cuts.
    """

    def __init__(self, cut: Cut, already: AlreadyRead | None = None) -> None:
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
        """Return a name for the cut's content. Cuts with the same name have the same bytes."""
        files: list[object] = []
        for file, descriptor in zip(self._cut.files, self._descriptors, strict=True):
            files.append((file.path, *_facts(os.fstat(descriptor))))
        cut, form = self._cut, self._cut.form
        laid_out = [cut.groups, form.group_rows]
        parts = [compacted.FORM, cut.table, str(form.schema), form.order, cut.since, cut.until, *laid_out, files]
        parts += [[words.FORM, *cut.indexes]] if cut.indexes else []
        parts += ["mapped", mapped.FORM] if cut.mapped else []
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def _opened(self) -> Iterator[tuple[DataFile, int]]:
        return zip(self._cut.files, self._descriptors, strict=True)

    @property
    def suffix(self) -> str:
        """Return the suffix of its file's name."""
        return ".arrow" if self._cut.mapped else ".parquet"

    def count(self) -> int:
        """Return the number of rows in the cut."""
        cut = self._cut
        if cut.keeps_all:
            return cut.rows
        if self._already is not None:
            return sum(self._by_day(self._already, file, at).count(cut.since, cut.until) for file, at in self._opened)
        count = partial(compacted.count, since=cut.since, until=cut.until)
        return sum(self._read_with(file, at, count) for file, at in self._opened)

    def write_to(self, file: object) -> None:
        """Write the cut as Parquet or Arrow, or its index."""
        cut = self._cut
        if cut.indexes:
            words.write(self._groups(), cut.indexes, file)
        elif cut.mapped:
            mapped.write(self._groups(), cut.form.schema, file)
        else:
            compacted.write(self._groups(), file, cut.form.group_rows)

    def _groups(self) -> Iterator[pa.Table]:
        """Yield the groups one by one, so that only one is in memory."""
        cut, rows_written = self._cut, 0
        for since, until in compacted.spans(cut.groups, cut.since, cut.until):
            if (rows := self._sorted(since, until)).num_rows:
                rows_written += rows.num_rows
                yield rows
        if cut.keeps_all and rows_written != cut.rows:
            raise SessionRefused(cut.table, "a file contains rows of other months than the manifest says")
        if not rows_written:
            yield cut.form.schema.empty_table()

    def _sorted(self, since: Bound, until: Bound) -> pa.Table:
        descriptors = dict(self._opened)
        reaching = compacted.reaching(self._cut.files, since, until)
        tables = [
            self._stored(file, descriptors[file], since, until)
            if self._already is None
            else self._by_day(self._already, file, descriptors[file]).between(since, until)
            for file in reaching
        ]
        form = self._cut.form
        if self._already is not None and len(tables) == 1 and self._already.is_one_day(since, until):
            return tables[0].combine_chunks()
        return form.arranged(pa.concat_tables(tables) if tables else form.schema.empty_table())

    def _by_day(self, already: AlreadyRead, file: DataFile, descriptor: int) -> RowsByDay:
        read = partial(self._stored, file, descriptor)
        return already.of((file.path, _facts(os.fstat(descriptor))), self._cut.form, read)

    def _stored(self, file: DataFile, descriptor: int, since: Bound, until: Bound) -> pa.Table:
        """Return a file's rows from `since` to `until`; columns that an older file lacks are null."""
        schema = self._cut.form.schema
        read = partial(compacted.read, names=schema.names, since=since, until=until)
        return compacted.shaped(self._read_with(file, descriptor, read), schema)

    def _read_with(self, file: DataFile, descriptor: int, ask: Callable[[BinaryIO], _Answer]) -> _Answer:
        """Read rows from a file of the lake after proving its footer."""
        cut = self._cut
        with faults.translated(Path(file.path)):
            facts = footer.read(descriptor)
            if facts.fault and not facts.columns:
                raise LakeFault("damaged", file.path)
            footer.prove(facts, cut.table, None, compacted.stored_schema(file, cut.stored), file.rows)
            with os.fdopen(os.dup(descriptor), "rb") as source:
                try:
                    return ask(source)
                except (pa.ArrowException, OSError) as problem:
                    if isinstance(problem, OSError) and problem.errno:
                        raise
                    raise LakeFault("damaged", file.path) from problem


def open_file(path: str | Path, table: str) -> int:
    """Open a file for reading.

    Raises LakeFault if the file is missing or denied, SessionRefused for any other cause.
    """
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise LakeFault("missing", path) from None
    except OSError as problem:
        if exhausted := machine.exhausted(problem, "the lake", path):
            raise exhausted from None
        refused = SessionRefused(table, f"a file of this lake version can't be opened: {problem.strerror}")
        raise faults.cause(problem, Path(path)) or refused from None
