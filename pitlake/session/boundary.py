"""The boundary: what a session sees, as files of the parent's own making, kept for later.

Rows before T's year, if many, become a file for each year; those of T's year before T's month, if many, a file for each
month; those of T's month, if many, a file for each day before T's. All of these every later T finds, and only T's own
day is cut at T. How is a function of the rows up to T alone. Files are kept in a private, bounded directory, named
after what they were made of; each is proven again at every use. Called by binding.py.
"""

import os
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import platformdirs

from pitlake.clock import from_micros
from pitlake.errors import SessionRefused
from pitlake.lake.manifest import DataFile
from pitlake.session import footer
from pitlake.session.cuts import Cut, Sources, open_file

_STALE_SECONDS = 3600.0
_NOTED_SECONDS = 600.0
LEAST_BYTES = 2 << 30
FEW_ROWS = 8_192
_SWEEPS = 64  # a process looks through the whole directory once per this part of what may be kept, not at every cut
_written: dict[Path, int] = {}
_writing = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Part:
    """A file of one part of a period; `newest` in microseconds."""

    start: int
    path: Path
    rows: int
    newest: int


class Boundary:
    """The directory of cuts. `most` bytes are kept, by default half of what is free and 2 GiB at least, and a 64th more
    per process; the least recently used go first.

    few: so many rows of years, of months or of days lie in one file.
    """

    def __init__(self, directory: Path | None = None, most: int | None = None, few: int = FEW_ROWS) -> None:
        self._directory = directory or _default_directory()
        self._most = _room(self._directory) if most is None else most
        self._few = few
        self._usable: bool | None = None
        self._lock = threading.Lock()

    def open(self, cut: Cut) -> list[int]:
        """Descriptors, open for reading, of the cut's files: kept from before or made now. Raises SessionRefused."""
        if cut.rows <= self._few:
            return [self._open_one(cut)] if cut.parts or cut.periods else []
        if not cut.parts:
            periods = [replace(cut, periods=(period,)) for period in cut.periods]
            return _each(self._open_one, (replace(one, by_month=one.rows > self._few) for one in periods))
        with suppress(SessionRefused):  # damaged, or evicted by another process: made again below
            return self._open_parts(cut, anew=False)
        return self._open_parts(cut, anew=True)

    def _open_parts(self, cut: Cut, *, anew: bool) -> list[int]:
        with self._parted(cut, anew) as parts:
            begun = max(start for start in cut.parts if cut.bound is None or start <= cut.bound)
            closed = [part for part in parts if part.start < begun]
            own = [part for part in parts if part.start == begun]
            if sum(part.rows for part in closed) <= self._few:
                return [self._open_one(_cut_of(cut, closed + own))]
            kept = _each(lambda part: _proven(open_file(part.path, cut.table), cut), closed)
            return kept + _each(self._open_one, [_cut_of(cut, own)], kept)

    @contextmanager
    def _parted(self, cut: Cut, anew: bool) -> Iterator[list[_Part]]:
        """The parts of the cut's files, all their rows, in order. anew: made now and not kept, nor what was kept."""
        with Sources(replace(cut, until=None)) as sources, tempfile.TemporaryDirectory() as unkept:
            folder = self._directory / f"{sources.identity()}.parts"
            if anew or not self._ready():
                _remove(folder)
                folder = Path(unkept)
                sources.write_parts(folder)
            elif not folder.exists():
                self._write_parts(folder, sources)
            with suppress(OSError):
                os.utime(folder, (time.time(), 0))
            yield _parts(folder, cut)

    def _open_one(self, cut: Cut) -> int:
        with Sources(cut) as sources:
            name = f"{sources.identity()}.parquet"
            if not self._ready():
                return _proven(self._write_unnamed(sources), cut)
            descriptor = self._kept(name)
            if descriptor is not None:
                with suppress(SessionRefused):  # damaged: made again below
                    return _proven(descriptor, cut)
            self._write(name, sources)
            descriptor = self._kept(name)
            if descriptor is None:  # evicted by another process within an instant
                descriptor = self._write_unnamed(sources)
            return _proven(descriptor, cut)

    def _ready(self) -> bool:
        with self._lock:
            if self._usable is None:
                self._usable = _make_private(self._directory)
            return self._usable

    def _kept(self, name: str) -> int | None:
        with suppress(FileNotFoundError):
            descriptor = os.open(self._directory / name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            _use(descriptor)
            return descriptor
        return None

    def _write(self, name: str, sources: Sources) -> None:
        def write(temporary: Path) -> None:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                sources.write_to(file)

        self._keep(self._directory / name, write)

    def _write_parts(self, folder: Path, sources: Sources) -> None:
        def write(temporary: Path) -> None:
            temporary.mkdir(mode=0o700)
            sources.write_parts(temporary)
            for path in temporary.iterdir():
                os.utime(path, (0, 0))

        self._keep(folder, write)

    def _keep(self, path: Path, write: Callable[[Path], None]) -> None:
        temporary = self._directory / f".{secrets.token_hex(8)}.tmp"
        try:
            write(temporary)
            size = _size(temporary)
            with suppress(OSError):  # a folder another process has put there first
                temporary.replace(path)
        finally:
            _remove(temporary)
        if self._sweep_is_due(size):
            self._evict()

    def _write_unnamed(self, sources: Sources) -> int:
        with tempfile.NamedTemporaryFile() as file:
            sources.write_to(file)
            file.flush()
            os.utime(file.name, (0, 0))
            return os.open(file.name, os.O_RDONLY | os.O_CLOEXEC)

    def _sweep_is_due(self, size: int) -> bool:
        with _writing:
            written = _written.get(self._directory, self._most) + size
            due = written * _SWEEPS >= self._most
            _written[self._directory] = 0 if due else written
            return due

    def _evict(self) -> None:
        kept = []
        for path in self._directory.iterdir():
            with suppress(FileNotFoundError):
                facts = path.stat()
                if path.suffix == ".tmp" and time.time() - facts.st_mtime > _STALE_SECONDS:
                    _remove(path)
                elif path.suffix in (".parquet", ".parts"):
                    kept.append((facts.st_atime_ns, _size(path), path))
        total = sum(size for _, size, _ in kept)
        for _, size, path in sorted(kept):
            if total <= self._most:
                break
            _remove(path)
            total -= size


def _parts(folder: Path, cut: Cut) -> list[_Part]:
    """Every part in a folder. Raises SessionRefused unless they hold as many rows as the cut's files."""
    found = []
    with suppress(FileNotFoundError):  # evicted meanwhile: rows are missing then
        for path in sorted(folder.glob("*.parquet"), key=lambda path: int(path.stem)):
            descriptor = open_file(path, cut.table)
            try:
                facts = footer.read(descriptor)
            finally:
                os.close(descriptor)
            if facts.newest is not None:
                found.append(_Part(int(path.stem), path, facts.rows, facts.newest))
    if sum(part.rows for part in found) != cut.rows:
        raise SessionRefused(cut.table, "the days its rows were divided into do not hold them all")
    return found


def _each(open_one: Callable[[Any], int], given: Iterable[object], before: Iterable[int] = ()) -> list[int]:
    """Descriptors of all that is given. If one can't be had, these and those opened before are closed."""
    opened: list[int] = []
    try:
        opened += (open_one(one) for one in given)
    except BaseException:
        for descriptor in (*before, *opened):
            os.close(descriptor)
        raise
    return opened


def _cut_of(cut: Cut, parts: list[_Part]) -> Cut:
    """The same cut, of rows that were divided into parts before."""
    straddles = cut.bound is not None and any(part.newest > cut.bound for part in parts)
    files = tuple(
        DataFile(str(part.path), part.rows, 0, from_micros(part.start), from_micros(part.newest)) for part in parts
    )
    return replace(cut, periods=((files,),), stored=cut.schema, until=cut.bound if straddles else None, parts=())


def _proven(descriptor: int, cut: Cut) -> int:
    try:
        footer.prove(footer.read(descriptor), cut.table, cut.bound, cut.schema)
    except SessionRefused:
        os.close(descriptor)
        raise
    return descriptor


def _use(descriptor: int) -> None:
    """Note that a kept file is used now, unless that was noted minutes ago: a note changes its inode, after which its
    footer is read anew. When it was made is nobody's business.
    """
    facts, now = os.fstat(descriptor), time.time()
    if facts.st_mtime or facts.st_atime < now - _NOTED_SECONDS:
        os.utime(descriptor, (now, 0))


def _size(path: Path) -> int:
    files = path.iterdir() if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _room(directory: Path) -> int:
    """Half of what is free where the directory is or will be, 2 GiB at least."""
    there = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    return max(LEAST_BYTES, shutil.disk_usage(there).free // 2)


def _default_directory() -> Path:
    named = os.environ.get("PITLAKE_CACHE")
    return (Path(named) if named else Path(platformdirs.user_cache_dir("pitlake"))) / "boundary"


def _make_private(directory: Path) -> bool:
    """Whether the directory is there, ours alone and writable. If not, cuts live in unnamed files and are not kept."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = directory.lstat()
    except OSError:
        return False
    private = facts.st_uid == os.geteuid() and not facts.st_mode & 0o077
    return private and directory.is_dir() and not directory.is_symlink() and os.access(directory, os.W_OK | os.X_OK)
