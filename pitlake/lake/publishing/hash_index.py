"""An index of hashes: which files of a table may contain records that match those of a stage.

The index is built from the data files at its first use. It is used only while its signature is valid
(pitlake.lake.storage.signed_cache). The index only excludes files; the remaining files are read and compared. It
consists of segments of many files each. Small segments are merged, so that the cost of a lookup depends on its result
and not on the number of segments.
"""

import hashlib
import json
import mmap
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from uuid import uuid4

import duckdb
import numpy as np
import pyarrow as pa

from pitlake.lake.publishing.match_keys import Hashes, hashes
from pitlake.lake.storage import signed_cache
from pitlake.lake.storage.arrays import Positions
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.storage.store import Store
from pitlake.lake.tables.query import reading
from pitlake.recorder import drafted

FOLDER = "_lake/hash_index"
SUFFIX = ".hashes"
MOST_ROWS = 1 << 23
MOST_ROWS_AT_ONCE = 1 << 20
MOST_FILES = 1 << 16
MANY = 1 << 16
"""The number of rows from which matching whole files is cheaper than choosing among them."""
NUMBER = np.uint64(MOST_FILES - 1)
"""The bits of an entry with the number of a file. An entry is a hash whose last 16 bits are replaced by that number."""


@dataclass(frozen=True, slots=True)
class Segment:
    """The index of some files: for each kind of match keys, its sorted entries. `path` is its file, or None; `mapped`
    is that file in memory.
    """

    files: tuple[str, ...]
    entries: tuple[Hashes, ...]
    path: Path | None = None
    mapped: mmap.mmap | None = None

    @property
    def size(self) -> int:
        return sum(map(len, self.entries))

    def holding(self, kind: int, hashes: Hashes) -> set[str]:
        """Return the files that contain one of these hashes."""
        # The sorted entries of one hash form a run: its number bits rise from all 0 to all 1. `first` is the start of
        # each run, `count` its length, and `places` has the positions of the entries of all runs.
        entries = self.entries[kind]
        first = _less(entries, hashes & ~NUMBER)
        inside = first < len(entries)
        first, hashes = first[inside], hashes[inside]
        met = (entries[first] | NUMBER) == (hashes | NUMBER)
        first, hashes = first[met], hashes[met]
        count = np.searchsorted(entries, hashes | NUMBER, "right") - first
        places = np.repeat(first - (np.cumsum(count) - count), count) + np.arange(count.sum())
        hits_per_file = np.bincount((entries[places] & NUMBER).astype(np.int64))
        if self.mapped is not None:  # Otherwise a large index would count as memory of this process.
            self.mapped.madvise(mmap.MADV_DONTNEED)
        return {self.files[number] for number in np.flatnonzero(hits_per_file).tolist()}


class LikelyFiles:
    """The files of a table in one lake version: all of them, or those that may contain matching records.

    kinds: the match keys of its index (see `match_keys`). staged_hashes: the hashes of staged rows, by kind.
    """

    def __init__(
        self,
        store: Store,
        table: str,
        files: tuple[DataFile, ...],
        kinds: Iterable[str],
        staged_hashes: Mapping[str, Hashes] | None = None,
    ) -> None:
        self.all = files
        self._folder, self._kinds = store.path(f"{FOLDER}/{table}"), tuple(kinds)
        self._staged_hashes = staged_hashes or {}
        self._matches: dict[str, tuple[DataFile, ...]] = {}

    def holding(self, kind: str) -> tuple[DataFile, ...]:
        """Return every file with a row that matches a staged row. The result may contain other files."""
        if kind not in self._matches:
            self._matches[kind] = self.like(kind, self._staged_hashes[kind]) if self.all else ()
        return self._matches[kind]

    def like(self, kind: str, hashes: Hashes) -> tuple[DataFile, ...]:
        """Return every file with a row that has one of these hashes. The result may contain other files."""
        if not self.all or not len(hashes):
            return ()
        if len(hashes) >= max(MANY, sum(file.rows for file in self.all)):
            return self.all  # So many rows probably match rows of every file, so an index would not help.
        number, ordered = self._kinds.index(kind), np.sort(hashes)
        names = set().union(*(segment.holding(number, ordered) for segment in self._segments))
        return tuple(file for file in self.all if _name(file) in names)

    @cached_property
    def _segments(self) -> list[Segment]:
        by_name = {_name(file): file for file in self.all}
        seen = list[Path]()
        with suppress(OSError):
            seen = [path for path in self._folder.iterdir() if path.suffix != signed_cache.SUFFIX]
        segments = [segment for segment in map(self._read, seen) if segment]
        indexed = {name for segment in segments for name in segment.files}
        missing = [file for name, file in by_name.items() if name not in indexed]
        segments += [self._build(group) for group in _groups(missing, MOST_ROWS)]
        segments = _compacted(segments, by_name.keys())
        with suppress(OSError):  # Without the index, the next publish only takes longer.
            segments = [segment if segment.path else self._save(segment) for segment in segments]
            _remove(set(seen) - {segment.path for segment in segments})
        return segments

    def _read(self, path: Path) -> Segment | None:
        """Map the segment at a path into memory; None if it is damaged or contains other kinds of keys."""
        with suppress(OSError, ValueError, KeyError), path.open("rb") as file:
            if path.suffix == SUFFIX and signed_cache.is_intact(path, file.fileno()):
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                reader = pa.ipc.open_file(pa.py_buffer(mapped))
                facts = json.loads(reader.schema.metadata[b"segment"])
                if facts["version"] == self._version:
                    entries = (reader.get_batch(number)[0].to_numpy() for number in range(len(self._kinds)))
                    return Segment(tuple(facts["files"]), tuple(entries), path, mapped)
        return None

    def _build(self, files: Sequence[DataFile]) -> Segment:
        parts: list[list[Hashes]] = [[] for _ in self._kinds]
        places = iter(range(len(files)))
        for bundle in _groups(files, MOST_ROWS_AT_ONCE):
            alone = [replace(file, beside=None) for file in bundle]  # A companion has nothing to match.
            hashes_by_kind = hashes(f"FROM {reading(alone)}", self._kinds)
            numbers = np.concatenate([np.full(file.rows, next(places), np.uint64) for file in bundle])
            for part, kind in zip(parts, self._kinds, strict=True):
                part.append(_numbered(hashes_by_kind[kind], numbers))
        return Segment(tuple(map(_name, files)), tuple(map(_ordered, parts)))

    def _save(self, segment: Segment) -> Segment:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{uuid4().hex}{SUFFIX}"
        facts = json.dumps({"files": segment.files, "version": self._version})
        schema = pa.schema([("entry", pa.uint64())], {"segment": facts})
        with drafted(path, durable=True) as file, pa.ipc.new_file(file, schema) as writer:
            for entries in segment.entries:
                writer.write_batch(pa.record_batch([entries], schema))
        signed_cache.sign(path)
        return Segment(segment.files, segment.entries, path)

    @cached_property
    def _version(self) -> str:
        return hashlib.sha256(json.dumps([self._kinds, duckdb.__version__]).encode()).hexdigest()


def forget(store: Store) -> None:
    """Delete the indexes to free space; the next publishes write them again."""
    shutil.rmtree(store.path(FOLDER), ignore_errors=True)


def remove_outdated(store: Store, table: str, files: Iterable[DataFile]) -> None:
    """Delete the segments that mostly describe files no longer in a table. The next publish builds what is missing."""
    names, outdated = {_name(file) for file in files}, list[Path]()
    with suppress(OSError):
        for path in store.path(f"{FOLDER}/{table}").glob(f"*{SUFFIX}"):
            with suppress(ValueError, KeyError), pa.memory_map(str(path)) as source:
                facts = json.loads(pa.ipc.open_file(source).schema.metadata[b"segment"])
                outdated += [path] if _is_stale(facts["files"], names) else []
    _remove(outdated)


def _name(file: DataFile) -> str:
    return f"{file.path.rpartition('/')[2].removesuffix('.parquet')}-{file.rows}-{file.size}"


def _groups(files: Iterable[DataFile], most_rows: int) -> Iterator[list[DataFile]]:
    group: list[DataFile] = []
    for file in files:
        if group and (len(group) == MOST_FILES or sum(member.rows for member in group) + file.rows > most_rows):
            yield group
            group = []
        group.append(file)
    if group:
        yield group


def _compacted(segments: Iterable[Segment], names: Collection[str]) -> list[Segment]:
    """Merge segments until each is more than twice as large as all smaller ones and mostly describes current files."""
    left: list[Segment] = []
    merging: list[Segment] = []
    for segment in sorted(segments, key=lambda segment: segment.size):
        useful = any(name in names for name in segment.files)
        total = sum(part.size for part in merging)
        stale, small = _is_stale(segment.files, names), segment.size <= 2 * total
        files = sum(len(part.files) for part in (*merging, segment))
        room = (total + segment.size) <= MOST_ROWS * len(segment.entries) and files <= MOST_FILES
        if not useful:
            continue
        (merging if (stale or small or not merging) and room else left).append(segment)
    stays = len(merging) == 1 and all(name in names for name in merging[0].files)
    return left + (merging if stays else [_merge(merging, names)] if merging else [])


def _is_stale(files: Collection[str], names: Collection[str]) -> bool:
    """Return whether most files of a segment are no longer current."""
    return 2 * sum(name in names for name in files) < len(files)


def _merge(segments: Sequence[Segment], names: Collection[str]) -> Segment:
    files = tuple(dict.fromkeys(name for segment in segments for name in segment.files if name in names))
    number = {name: place for place, name in enumerate(files)}
    new = [np.array([number.get(name, MOST_FILES) for name in segment.files], np.uint64) for segment in segments]

    def merged(kind: int) -> Hashes:
        parts = []
        for segment, new_numbers in zip(segments, new, strict=True):
            entries = segment.entries[kind]
            numbers = new_numbers[entries & NUMBER]
            stays = numbers < MOST_FILES
            parts.append(_numbered(entries[stays], numbers[stays]))
        return _ordered(parts)

    return Segment(files, tuple(map(merged, range(len(segments[0].entries)))))


def _ordered(parts: Sequence[Hashes]) -> Hashes:
    """Return the entries in order, without duplicates."""
    entries = np.sort(np.concatenate(parts))
    first = np.ones(len(entries), bool)
    first[1:] = entries[1:] != entries[:-1]
    return entries[first]


def _numbered(of: Hashes, numbers: Hashes | np.uint64) -> Hashes:
    return (of & ~NUMBER) | numbers


def _less(entries: Hashes, hashes: Hashes) -> Positions:
    """Count the entries below each hash, as np.searchsorted does, but run each bisection step for all hashes together.

    The memory reads of a step then overlap, which halves the time in a large index.
    """
    count = np.zeros(len(hashes), np.int64)
    step = 1 << len(entries).bit_length()
    while step := step >> 1:
        more = count + step
        count[(more <= len(entries)) & (entries[np.minimum(more, len(entries)) - 1] < hashes)] += step
    return count


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        for stale in (path, signed_cache.signature_path(path)):
            with suppress(OSError):
                stale.unlink(missing_ok=True)
