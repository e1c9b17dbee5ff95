"""The cut cache: the files of sessions, written by the parent and reused.

Many rows before T's year become one file per year. Many rows of T's year before T's month become one file per month.
Many rows of T's month become one file per run of eight, four, two and one completed days. Later T's reuse these files,
and only T's own day is cut at T. The layout depends only on the rows up to T, and no file contains a row after its T.
If compaction left exactly this file for a year or month, that file is used directly. Other files are kept in a private
directory of limited size, named after their sources. Each file is proven again at every use.
"""

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from pitlake import machine
from pitlake.errors import BadInput, SessionRefused
from pitlake.lake.storage import signed_cache
from pitlake.lake.storage.parallel import each
from pitlake.lake.tables import compacted
from pitlake.lake.tables.compacted import FEW_ROWS
from pitlake.recorder import drafted
from pitlake.session.visible import footer
from pitlake.session.visible.cuts import AlreadyRead, Cut, FileFacts, Sources, facts_of, open_file

_STALE_SECONDS = 3600.0
_NOTED_SECONDS = 600.0
MOST_VARIABLE = "PITLAKE_CACHE_MIB"
LEAST_BYTES = 2 << 30
_SWEEPS = 64  # The directory is swept each hour and whenever a 64th of the limit was written.
_TALLIED = 4096  # bytes written per byte of the tally
_MOST_REMEMBERED = 50_000
_LARGEST_MONTH = 32 << 20  # compressed bytes of a month that may be kept in memory
_RUNS = (8, 4, 2, 1)  # days in one file


@dataclass(frozen=True, slots=True)
class _Opened:
    """A file of a cut, open for reading, and its path in the cache; None if it is not cached."""

    cut: Cut
    descriptor: int
    path: Path | None


_File = TypeVar("_File", bound=_Opened | None)
_remembered: dict[tuple[object, ...], tuple[pa.Schema, list[FileFacts], list[Path]]] = {}
"""For each cut opened before: its schema, the file system's facts of its source files, and the paths of its cached
files. The cached files are proven again at every use.
"""


class CutCache:
    """The directory of cuts.

    most: the bytes to keep, which may be exceeded by a 64th (default: $PITLAKE_CACHE_MIB, else half of the free space,
    at least 2 GiB). The least recently used files are removed first. Raises BadInput for an invalid setting.

    few: up to this many rows of several years, months or days share one file.
    """

    def __init__(self, directory: Path | None = None, most: int | None = None, few: int = FEW_ROWS) -> None:
        self._directory = directory or (signed_cache.caches() / "boundary")
        self._most = _cache_bytes(self._directory) if most is None else most
        self.few = few
        self._usable: bool | None = None
        self._lock = threading.Lock()
        self._keeps_months = False
        self._months: dict[tuple[object, ...], AlreadyRead] = {}

    def open(self, cut: Cut, at_once: int = 1) -> list[int]:
        """Return descriptors of the cut's files, open for reading, cached or newly written.

        An index has one file for each file of rows, in order. Rows of T's own day, and few rows in one file, have no
        index and are read instead.
        at_once: the number of days written at the same time. Raises SessionRefused, and LakeError if there is no space.
        """
        before = facts_of(cut)
        with machine.working_in("the cache", self._directory):
            files = self._open(cut, at_once)
        paths = [file.path for file in files if file.path is not None]
        if len(paths) == len(files):
            if len(_remembered) >= _MOST_REMEMBERED:
                _remembered.clear()
            _remembered[self._remembered_by(cut)] = cut.file_schema, before, paths
        return [file.descriptor for file in files]

    def keep_months(self) -> None:
        """Keep the last month read of each table in memory, for a session that moves day by day."""
        self._keeps_months = True

    def _month_of(self, cut: Cut) -> AlreadyRead | None:
        """Return the kept rows of the month in which a cut ends; None for a large month, or if months are not kept."""
        size = sum(file.size / (12 if file.of_year else 1) for file in cut.files)
        if not self._keeps_months or size > _LARGEST_MONTH:
            return None
        of_table = (cut.table, cut.form.order, *cut.form.schema.names)
        starts, month = cut.parts[1:], self._months.get(of_table)
        if month is None or (month.starts, month.since) != (starts, cut.since):
            month = self._months[of_table] = AlreadyRead(starts, cut.since, cut.periods[0].until)
        return month

    def open_again(self, cut: Cut) -> list[int] | None:
        """Return the result of `open` for a cut that this process opened before.

        Return None if the lake's files have changed or the cached ones are gone.
        """
        if not cut.files:
            return []
        schema, before, paths = _remembered.get(self._remembered_by(cut), (None, [], []))
        if schema is None or not schema.equals(cut.file_schema) or facts_of(cut) != before:
            return None
        descriptors: list[int] = []
        with suppress(SessionRefused):
            for path in paths:
                ours = path.parent == self._directory
                descriptor = self._open_intact(path) if ours else open_file(path, cut.table)
                if descriptor is None:
                    break
                descriptors.append(_proven(descriptor, cut))
            else:
                return descriptors
        _close(descriptors)
        return None

    def _remembered_by(self, cut: Cut) -> tuple[object, ...]:
        bound = cut.bound if cut.parts else None
        files = tuple((*(file.path for file in period.files), period.since, period.until) for period in cut.periods)
        kind = (cut.table, cut.form.order, cut.since, cut.until, cut.groups, cut.parts, bound, cut.indexes, cut.mapped)
        return (str(self._directory), self.few, *kind, files)

    def _open(self, cut: Cut, at_once: int) -> list[_Opened]:
        if not cut.files:
            return []
        if cut.parts and cut.rows > self.few:
            return self._open_days(cut, at_once)
        counted = [(part, rows) for part in map(cut.of_period, cut.periods) if (rows := _count(part))]
        if cut.parts or sum(rows for _, rows in counted) <= self.few:
            return [] if cut.indexes else [self._open_one(cut)]
        many = (replace(part, groups=part.periods[0].months) if rows > self.few else part for part, rows in counted)
        return _each(self._open_one, many)

    def _open_days(self, cut: Cut, at_once: int) -> list[_Opened]:
        until = cut.bound
        if until is None:
            raise ValueError("a cut of days needs an upper bound")
        starts = tuple(start for start in cut.parts if start <= until)
        if cut.indexes:
            rows = self._open_days(replace(cut, indexes=()), at_once)
            _close(file.descriptor for file in rows)
            return self._open_together([replace(file.cut, indexes=cut.indexes) for file in rows[:-1]], starts)
        already = self._month_of(cut)
        # The days in runs, each from the number of its first day to that of the day after its last.
        ends = [0]
        while ends[-1] < len(starts) - 1:
            ends.append(ends[-1] + next(run for run in _RUNS if ends[-1] + run < len(starts)))
        # Rows of an earlier month, in a misplaced file, are treated as rows of the first day.
        first = (cut.since, *starts[1:])
        runs = [
            cut.between(first[day], starts[after] - 1, starts[day:after] if after > day + 1 else ())
            for day, after in pairwise(ends)
        ]
        if len(starts) < 2 or _count(cut.between(cut.since, starts[-1] - 1), already) <= self.few:
            return [self._open_one(cut.between(cut.since, until), already)]
        days = [*(run for run in runs if run.rows), cut.between(first[-1], until)]
        files = self._open_together(days, starts, at_once, already)
        counted = [(file, footer.read(file.descriptor).rows) for file in files[:-1]]
        _close(file.descriptor for file, rows in counted if not rows)
        return [*(file for file, rows in counted if rows), files[-1]]

    def _open_together(
        self, days: list[Cut], starts: tuple[int, ...], at_once: int = 1, already: AlreadyRead | None = None
    ) -> list[_Opened]:
        """Open the cuts of these days, oldest first.

        For missing cuts, each source is read at most once, and rows that were already read are reused.
        """
        cached = _each(self._open_cached, days)
        missing = [day for day, file in zip(days, cached, strict=True) if file is None]
        if missing:
            already = already or AlreadyRead(starts[1:], missing[0].since, missing[0].bound)
            make = partial(self._make, already=already)
            new_files = iter(_each(make, missing, (file for file in cached if file), at_once))
            return [file or next(new_files) for file in cached]
        return [file for file in cached if file]

    def _open_one(self, cut: Cut, already: AlreadyRead | None = None) -> _Opened:
        return self._open_cached(cut) or self._make(cut, already)

    def _open_cached(self, cut: Cut) -> _Opened | None:
        """Return the cut's file if it exists, as a cached file or in the lake; None if it must be made."""
        descriptor = _open_as_stored(cut)
        if descriptor is not None:
            return _Opened(cut, _proven(descriptor, cut), Path(cut.files[0].path))
        if not self._ready():
            return None
        with Sources(cut) as sources:
            return self._cached(cut, self._path(sources))

    def _make(self, cut: Cut, already: AlreadyRead | None = None) -> _Opened:
        with Sources(cut, already) as sources:
            if self._ready():
                path = self._path(sources)
                self._write(path, sources)
                cached = self._cached(cut, path)
                if cached is not None:  # otherwise it was evicted
                    return cached
            return _Opened(cut, _proven(self._write_unnamed(sources), cut), None)

    def _path(self, sources: Sources) -> Path:
        return self._directory / f"{sources.identity()}{sources.suffix}"

    def _cached(self, cut: Cut, path: Path) -> _Opened | None:
        """Open the cut's cached file, if there is one and it is intact."""
        descriptor = self._open_intact(path)
        if descriptor is not None:
            with suppress(SessionRefused):
                return _Opened(cut, _proven(descriptor, cut), path)
        return None

    def _ready(self) -> bool:
        with self._lock:
            if self._usable is None:
                self._usable = _make_private(self._directory)
            return self._usable

    def _open_intact(self, path: Path) -> int | None:
        with suppress(OSError), ExitStack() as resources:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            resources.callback(os.close, descriptor)
            if signed_cache.is_intact(path, descriptor):
                record = signed_cache.signature_path(path)
                if record.stat().st_mtime < time.time() - _NOTED_SECONDS:  # Otherwise a recent use is recorded.
                    os.utime(record)
                resources.pop_all()
                return descriptor
        return None

    def _write(self, path: Path, sources: Sources) -> None:
        with drafted(path, mode=0o600) as file:
            sources.write_to(file)
            size = file.tell()
        with suppress(FileNotFoundError):  # if another thread or process evicts it immediately
            os.utime(path, (0, 0))  # a session must not learn when it was made
            signed_cache.sign(path)
        if self._sweep_is_due(size):
            self._evict()

    def _write_unnamed(self, sources: Sources) -> int:
        with tempfile.NamedTemporaryFile() as file:
            sources.write_to(file)
            file.flush()
            os.utime(file.name, (0, 0))
            return os.open(file.name, os.O_RDONLY | os.O_CLOEXEC)

    def _sweep_is_due(self, size: int) -> bool:
        """Add these bytes to the tally of the hour, which all processes share.

        If the tally can't be written, the directory is swept.
        """
        tally = self._directory / f"{int(time.time() // _STALE_SECONDS)}.tally"
        with suppress(OSError), tally.open("ab", buffering=0) as counted:
            first = counted.tell() == 0
            counted.write(bytes(size // _TALLIED + 1))
            due = first or counted.tell() * _TALLIED * _SWEEPS >= self._most
            if due:
                counted.truncate(1)
            return due
        return True

    def _evict(self) -> None:
        entries = []
        for path in self._directory.iterdir():
            with suppress(FileNotFoundError):
                if path.suffix in (".tmp", ".tally") and time.time() - path.stat().st_mtime > _STALE_SECONDS:
                    path.unlink()
                elif path.suffix in (".parquet", ".arrow"):
                    entries.append((_used(path), path.stat().st_size, path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self._most:
                break
            path.unlink(missing_ok=True)
            signed_cache.signature_path(path).unlink(missing_ok=True)
            total -= size


def _each(
    open_one: Callable[[Cut], _File], cuts: Iterable[Cut], before: Iterable[_Opened] = (), at_once: int = 1
) -> list[_File]:
    """Return the files of the given cuts, creating up to this many in parallel.

    After a failure, all of these files are closed, including those opened before.
    """
    files: list[_File] = []

    def open_and_hold(cut: Cut) -> _File:
        files.append(file := open_one(cut))
        return file

    try:
        return each(open_and_hold, cuts, at_once)
    except BaseException:
        _close(file.descriptor for file in before)
        _close(file.descriptor for file in files if file is not None)
        raise


def _count(cut: Cut, already: AlreadyRead | None = None) -> int:
    """Count the rows of a cut by its files' facts, or by reading if the files have rows of other periods."""
    if cut.keeps_all:
        return cut.rows
    with Sources(cut, already) as sources:
        return sources.count()


def _open_as_stored(cut: Cut) -> int | None:
    """Open the lake's file that equals this cut; None if there is none, or if the file's rows alone don't prove it. The
    file's time does not matter, because the file is part of a version.
    """
    if not cut.keeps_all or cut.indexes or cut.mapped or len(cut.files) != 1:
        return None
    (file,) = cut.files
    if file.form != compacted.FORM or cut.groups != (cut.periods[0].months if file.rows > FEW_ROWS else ()):
        return None
    with ExitStack() as resources, suppress(OSError):
        descriptor = open_file(file.path, cut.table)
        resources.callback(os.close, descriptor)
        if os.fstat(descriptor).st_mtime_ns:
            os.utime(file.path, (0, 0))
        if footer.read(descriptor).columns == frozenset(cut.form.schema.names):
            resources.pop_all()
            return descriptor
    return None


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _proven(descriptor: int, cut: Cut) -> int:
    try:
        footer.prove(footer.read(descriptor), cut.table, cut.bound, cut.file_schema)
    except SessionRefused:
        os.close(descriptor)
        raise
    return descriptor


def _used(path: Path) -> int:
    """Return when a cached file was last used; 0 without a record."""
    try:
        return signed_cache.signature_path(path).stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _cache_bytes(directory: Path) -> int:
    """Return the size limit: $PITLAKE_CACHE_MIB, else half of the free space at the directory, at least 2 GiB."""
    text = os.environ.get(MOST_VARIABLE, "").strip()
    if text:
        if not (text.isascii() and text.isdigit()):
            raise BadInput(MOST_VARIABLE, f"must be a whole number of MiB, not {text!r}", "give one, or unset it")
        return int(text) << 20
    there = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    return max(LEAST_BYTES, shutil.disk_usage(there).free // 2)


def _make_private(directory: Path) -> bool:
    """Return whether the directory exists, is writable, and belongs only to this user.

    If not, cuts are unnamed files and are not cached.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = directory.lstat()
    except OSError:
        return False
    private = facts.st_uid == os.geteuid() and not facts.st_mode & 0o077
    return private and directory.is_dir() and not directory.is_symlink() and os.access(directory, os.W_OK | os.X_OK)
