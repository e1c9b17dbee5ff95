"""Cut files: the rows up to T of the files that may hold later ones, as a new file of the parent's own making.

A cut is a function of the rows it keeps alone: columns of the contract, sorted, fixed writer settings, no clock. Cuts
are kept in a private, bounded directory, named after what they were made of; each is proven again at every use.
Called by binding.py; reading and writing happen in the trusted parent only.
"""

import hashlib
import json
import os
import secrets
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import platformdirs
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pitlake.clock import AVAILABLE_AT
from pitlake.contract import INSTANT
from pitlake.errors import SessionRefused
from pitlake.lake.manifest import DataFile
from pitlake.session import footer

_FORM = 1  # of the cut files; a change makes old ones unfindable
_STALE_SECONDS = 3600.0
DEFAULT_BYTES = 2 << 30
_SWEEPS = 64  # a process looks through the whole directory once per this part of what may be kept, not at every cut
_written: dict[Path, int] = {}
_writing = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class Cut:
    """What to cut: the files of one table, whose schema is `stored`, to the columns of `schema`, sorted by `order`.

    until: the last instant to keep, None for every row (microseconds since the epoch). bound: what the cut's own footer
    is proven against; cuts that keep every row are the same file for every T, so it is no part of what they are.
    repeated: columns with few values, worth a dictionary. Columns an older file lacks are null.
    """

    table: str
    files: tuple[DataFile, ...]
    stored: pa.Schema
    schema: pa.Schema
    order: tuple[str, ...]
    repeated: tuple[str, ...]
    until: int | None
    bound: int | None


class Boundary:
    """The directory of cuts. `most` bytes are kept, and a 64th more per process; the least recently used go first."""

    def __init__(self, directory: Path | None = None, most: int = DEFAULT_BYTES) -> None:
        self._directory = directory or _default_directory()
        self._most = most
        self._usable: bool | None = None
        self._lock = threading.Lock()

    def open(self, cut: Cut) -> int:
        """A descriptor, open for reading, of the cut: kept from before or made now. Raises SessionRefused."""
        with _Sources(cut) as sources:
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
        path = self._directory / name
        with suppress(FileNotFoundError):
            os.utime(path, (time.time(), 0))  # used now; the time it was made is nobody's business
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        return None

    def _write(self, name: str, sources: "_Sources") -> None:
        temporary = self._directory / f".{secrets.token_hex(8)}.tmp"
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                sources.write_to(file)
                size = file.tell()
            temporary.replace(self._directory / name)
        finally:
            temporary.unlink(missing_ok=True)
        if self._sweep_is_due(size):
            self._evict()

    def _write_unnamed(self, sources: "_Sources") -> int:
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
                    path.unlink()
                elif path.suffix == ".parquet":
                    kept.append((facts.st_atime_ns, facts.st_size, path))
        total = sum(size for _, size, _ in kept)
        for _, size, path in sorted(kept):
            if total <= self._most:
                break
            path.unlink(missing_ok=True)
            total -= size


class _Sources:
    """The files of a cut, opened once: identified, proven and read through the same descriptors."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut
        self._descriptors: list[int] = []

    def __enter__(self) -> Self:
        try:
            for file in self._cut.files:
                self._descriptors.append(open_file(file, self._cut.table))
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
        parts = [_FORM, cut.table, str(cut.schema), cut.order, cut.repeated, cut.until, files]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def write_to(self, file: object) -> None:
        """The cut as Parquet."""
        cut = self._cut
        pq.write_table(
            self._rows(),
            file,
            compression="lz4",
            use_dictionary=list(cut.repeated),
            store_schema=False,
            write_page_index=False,
        )

    def _rows(self) -> pa.Table:
        cut = self._cut
        parts = [self._part(file, at) for file, at in zip(cut.files, self._descriptors, strict=True)]
        rows = pa.concat_tables(parts) if parts else cut.schema.empty_table()
        keys = [(name, "ascending") for name in cut.order]
        return rows.take(pc.sort_indices(rows, sort_keys=keys)).combine_chunks()

    def _part(self, file: DataFile, descriptor: int) -> pa.Table:
        cut = self._cut
        facts = footer.read(descriptor)
        footer.prove(facts, cut.table, None, cut.stored, file.rows)
        with os.fdopen(os.dup(descriptor), "rb") as source:
            stored = pq.ParquetFile(source).read(columns=[name for name in cut.schema.names if name in facts.columns])
        if cut.until is not None:
            limit = pa.scalar(cut.until, pa.int64()).cast(INSTANT)
            stored = stored.filter(pc.less_equal(stored[AVAILABLE_AT], limit))
        return _shaped(stored, cut.schema)


def open_file(file: DataFile, table: str) -> int:
    """A lake file, open for reading. Raises SessionRefused when it is gone."""
    try:
        return os.open(file.path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as problem:
        raise SessionRefused(table, f"a file of this lake version can't be opened: {problem.strerror}") from None


def _shaped(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = [
        rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema([field.remove_metadata() for field in schema]))


def _proven(descriptor: int, cut: Cut) -> int:
    try:
        footer.prove(footer.read(descriptor), cut.table, cut.bound, cut.schema)
    except SessionRefused:
        os.close(descriptor)
        raise
    return descriptor


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
