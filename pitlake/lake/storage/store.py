"""Locates a lake's files and writes small ones atomically. Delta and Parquet files are read by path.

The root is a directory; `remote` is the same for an object store. This module does not interpret the files.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from pitlake import machine
from pitlake.errors import LakeError
from pitlake.lake.storage import faults
from pitlake.lake.storage.manifest import DataFile
from pitlake.recorder import drafted

SCRATCH = "_lake/scratch"
PLACE = "the lake"


class StoredFile(NamedTuple):
    """One file below the root. `modified` is seconds since the epoch, `size` bytes."""

    key: str
    size: int
    modified: float


class Store:
    """The files below one root. Keys are relative, with forward slashes; `location` is the root as shown to people."""

    table_options: dict[str, str] | None = None
    """The options that Delta needs, in addition to a URI, to reach the tables."""
    at_once = 1
    """The number of small files to read in parallel."""
    _errors: tuple[type[Exception], ...] = (OSError,)

    def __init__(self, root: Path) -> None:
        self.root = root
        self.location = str(root)

    def path(self, key: str) -> Path:
        return self.root / key

    def table_uri(self, key: str) -> str:
        """Return the location at which Delta finds the table below a key."""
        return str(self.path(key))

    def key(self, path: str | Path) -> str:
        """Return the key of an absolute path below the root."""
        return Path(path).relative_to(self.root).as_posix()

    def exists(self, key: str) -> bool:
        """Return whether there is such a file or directory."""
        with self.translated():
            try:
                os.stat(f"{self.root}/{key}")  # noqa: PTH116  logs are searched by it
            except (FileNotFoundError, NotADirectoryError):
                return False
            return True

    def newest(self, folder: str, since: int = -1) -> int:
        """Return the number of a folder's last file, at or after `since`, or -1. Numbers from 0 have no gaps.

        The search doubles its step until it is past the end, then bisects.
        """
        stride = 1
        while self.exists(f"{folder}/{since + stride:020d}.json"):
            since, stride = since + stride, stride * 2
        while stride > 1:
            stride //= 2
            if self.exists(f"{folder}/{since + stride:020d}.json"):
                since += stride
        return since

    def read(self, key: str) -> bytes:
        """Return the bytes of a small file. Raises FileNotFoundError."""
        with self._reached():
            return self.path(key).read_bytes()

    def put_new(self, key: str, content: bytes) -> bool:
        """Write a small file unless it exists; return whether it was written. Atomic and durable."""
        try:
            self._put(key, content, overwrite=False)
        except FileExistsError:
            return False
        return True

    def put(self, key: str, content: bytes) -> None:
        """Write a small file, replacing an existing one. Atomic and durable."""
        self._put(key, content, overwrite=True)

    def _put(self, key: str, content: bytes, *, overwrite: bool) -> None:
        scratch, path = self.path(SCRATCH), self.path(key)
        with self._reached():
            for folder in (scratch, path.parent):
                with suppress(FileExistsError):
                    folder.mkdir(parents=True)
            with drafted(path, folder=scratch, overwrite=overwrite, durable=True) as file:
                file.write(content)
            self.sync(path.parent)

    def translated(self) -> AbstractContextManager[None]:
        """Raise LakeFault for failures in this block that a permission caused."""
        return faults.translated(self.root)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Turn errors of the disk or the object store into LakeError, except for files that are missing or exist."""
        with self.translated():
            try:
                yield
            except self._errors as error:
                if "NoSuchBucket" in str(error):
                    raise LakeError(f"{self.location}: there is no such bucket; create it, or name another") from None
                if isinstance(error, FileExistsError | FileNotFoundError):
                    raise
                if shortage := machine.exhausted(error, PLACE, self.location):
                    raise shortage from None
                reason = str(error).split("\n", 1)[0][:200]
                raise LakeError(f"{self.location} refused or could not be reached: {reason}") from error

    @staticmethod
    def sync(*paths: Path | str) -> None:
        """Force files or directories to disk, so that nothing on the disk refers to missing files."""
        for path in paths:
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def keep(self, path: Path) -> None:
        """Make a finished file a permanent part of the store. From then on, readers may see it."""
        self.sync(path, path.parent)

    def forget_time(self, path: Path) -> None:
        """Remove the modification time of a file that a version shows.

        Sessions receive the file and must not learn when it was made.
        """
        os.utime(path, (0, 0))

    def settle(self, key: str) -> None:
        """Force Delta's writes at a key to the disk."""
        self.sync(self.path(key), self.path(key).parent)

    def fetch(self, files: Iterable[DataFile]) -> None:
        """Make these files readable at their paths. In a directory they already are."""

    def holds(self, file: DataFile) -> bool:
        """Return whether a file still exists in the store."""
        return Path(file.path).exists()

    def walk(self, folder: str) -> Iterator[StoredFile]:
        """Yield every file below a folder, in no order; none if the folder is missing."""
        with self.translated():
            for parent, _, names in os.walk(self.path(folder), onerror=_unless_gone):
                for name in names:
                    path = Path(parent) / name
                    try:
                        facts = path.stat()
                    except FileNotFoundError:
                        continue
                    yield StoredFile(self.key(path), facts.st_size, facts.st_mtime)

    def delete(self, *keys: str) -> None:
        """Remove files. Removing a missing file is not an error."""
        with self.translated():
            for key in keys:
                self.path(key).unlink(missing_ok=True)


def _unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
