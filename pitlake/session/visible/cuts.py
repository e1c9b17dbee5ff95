"""Making cut files: rows of lake files up to T, written anew as a function of those rows alone.

Columns of the contract, sorted, writer settings of the rows' own, no clock: which lake files the rows came from, how
many there were and whether they were compacted does not show. Reading and writing happen in the trusted parent only.
"""

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
import pyarrow as pa

from pitlake import machine
from pitlake.clock import AVAILABLE_AT, micros
from pitlake.errors import LakeFault, SessionRefused
from pitlake.lake import closed, faults
from pitlake.lake.arrays import as_micros
from pitlake.lake.closed import Bound, Form
from pitlake.lake.files import take_rows
from pitlake.lake.manifest import DataFile
from pitlake.session.visible import footer, words
from pitlake.session.visible.plan import Period


@dataclass(frozen=True, kw_only=True)
class Cut:
    """What to cut: the files of one table, whose schema is `stored`, to files of this form.

    since, until: the first and last instant to keep, None without a bound (microseconds since the epoch). bound: what
    the cut's own footer is proven against; cuts that keep every row are the same file for every T, so it is not part of
    what they are. Columns an older file lacks are null. periods: the files; many rows become a file for each. parts:
    where the days (of tombstones: months) of T's period begin; its rows up to T, if many, are cut there. groups: where
    the parts of a file begin that are in order each, in row groups of their own. Both in microseconds. within: the
    bounds of all cuts that are made of its files at once, which are read once for them. indexes: not the rows, but
    which words stand in these columns of them (words.py).
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
    within: tuple[Bound, Bound] = (None, None)
    indexes: tuple[str, ...] = ()

    @property
    def made(self) -> pa.Schema:
        """The schema of its files."""
        return words.SCHEMA if self.indexes else self.form.schema

    @cached_property
    def files(self) -> list[DataFile]:
        """Its files, each once."""
        return list(dict.fromkeys(file for period in self.periods for file in period.files))

    @cached_property
    def rows(self) -> int:
        """How many rows its files hold."""
        return sum(file.rows for file in self.files)

    @property
    def keeps_all(self) -> bool:
        """Whether it holds every row of its files."""
        return self.since is None and self.until is None

    def of_period(self, period: Period) -> "Cut":
        """The cut of one of its periods, as one file."""
        since = self.since if period.since is None else period.since
        until = self.until if period.until is None else period.until
        return replace(self, periods=(period,), since=since, until=until)

    def between(self, since: Bound, until: int, groups: tuple[int, ...] = ()) -> "Cut":
        """The cut of its rows from `since` to `until`, as one file with these groups."""
        files = tuple(closed.reaching(self.files, since, until))
        every = since is None and all(micros(file.hi) <= until for file in files)
        kept, within = None if every else until, (self.since, self.until)
        return replace(self, periods=(Period(files),), since=since, until=kept, parts=(), groups=groups, within=within)


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


class RowsByInstant:
    """Rows of a file, of which several cuts take those between two instants."""

    def __init__(self, rows: pa.Table) -> None:
        instants = as_micros(rows[AVAILABLE_AT])
        self._rows, self._order = rows, np.argsort(instants, kind="stable")
        self._instants = instants[self._order]

    def between(self, since: Bound, until: Bound) -> pa.Table:
        """The rows from `since` to `until`."""
        first = 0 if since is None else np.searchsorted(self._instants, since, "left")
        after = len(self._order) if until is None else np.searchsorted(self._instants, until, "right")
        return take_rows(self._rows, self._order[first:after])


class AlreadyRead:
    """What was read of files for several cuts that are made of the same ones, at the same time."""

    def __init__(self) -> None:
        self._rows: dict[str, RowsByInstant] = {}
        self._lock = threading.Lock()

    def of(self, path: str, read: Callable[[], pa.Table]) -> RowsByInstant:
        """The rows of the file at a path, which `read` reads if that was not done yet."""
        with self._lock:
            if path not in self._rows:
                self._rows[path] = RowsByInstant(read())
            return self._rows[path]


class Sources:
    """The files of a cut, opened once: identified, proven and read through the same descriptors.

    already: where what is read of the files is kept for other cuts.
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
        """A name for what the cut would hold: the same name, the same bytes."""
        files: list[object] = []
        for file, descriptor in zip(self._cut.files, self._descriptors, strict=True):
            files.append((file.path, *_facts(os.fstat(descriptor))))
        cut, form = self._cut, self._cut.form
        laid_out = [cut.groups, form.group_rows]
        parts = [closed.FORM, cut.table, str(form.schema), form.order, cut.since, cut.until, *laid_out, files]
        parts += [[words.FORM, *cut.indexes]] if cut.indexes else []
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def count(self) -> int:
        """How many rows the cut has."""
        cut = self._cut
        if cut.keeps_all:
            return cut.rows
        return sum(
            self._stored(file, at, cut.since, cut.until, [AVAILABLE_AT]).num_rows
            for file, at in zip(cut.files, self._descriptors, strict=True)
        )

    def write_to(self, file: object) -> None:
        """The cut as Parquet, or its index."""
        cut = self._cut
        if cut.indexes:
            words.write(self._groups(), cut.indexes, file)
        else:
            closed.write(self._groups(), file, cut.form.group_rows)

    def _groups(self) -> Iterator[pa.Table]:
        """Group by group, so that no more than one is in memory."""
        cut, written = self._cut, 0
        for since, until in closed.spans(cut.groups, cut.since, cut.until):
            if (rows := self._sorted(since, until)).num_rows:
                written += rows.num_rows
                yield rows
        if cut.keeps_all and written != cut.rows:
            raise SessionRefused(cut.table, "a file holds rows of other months than the manifest says")
        if not written:
            yield cut.form.schema.empty_table()

    def _sorted(self, since: Bound, until: Bound) -> pa.Table:
        descriptors = dict(zip(self._cut.files, self._descriptors, strict=True))
        reaching = closed.reaching(self._cut.files, since, until)
        found = [self._read(file, descriptors[file], since, until) for file in reaching]
        form = self._cut.form
        return form.arranged(pa.concat_tables(found) if found else form.schema.empty_table())

    def _read(self, file: DataFile, descriptor: int, since: Bound, until: Bound) -> pa.Table:
        names = self._cut.form.schema.names
        if self._already is None:
            return self._stored(file, descriptor, since, until, names)
        read = partial(self._stored, file, descriptor, *self._cut.within, names)
        return self._already.of(file.path, read).between(since, until)

    def _stored(self, file: DataFile, descriptor: int, since: Bound, until: Bound, names: list[str]) -> pa.Table:
        """These columns of a file's rows from `since` to `until`, null where an older file lacks one."""
        cut = self._cut
        with faults.translated(Path(file.path)):
            facts = footer.read(descriptor)
            if facts.fault and not facts.columns:
                raise LakeFault("damaged", file.path)
            footer.prove(facts, cut.table, None, closed.stored_schema(file, cut.stored), file.rows)
            with os.fdopen(os.dup(descriptor), "rb") as source:
                found = _whole(source, names, file, since, until)
        return closed.shaped(found, pa.schema([cut.form.schema.field(name) for name in names]))


def _whole(source: BinaryIO, names: list[str], file: DataFile, since: Bound, until: Bound) -> pa.Table:
    try:
        return closed.read(source, names, since, until)
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
