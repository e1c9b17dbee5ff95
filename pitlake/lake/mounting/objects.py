"""Objects of an object store that can be mounted: files and Delta tables."""

from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path, PurePosixPath

import duckdb
import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from pitlake.lake.mounting.files import S3, IsText, never, no_file, of_folder, read_files, reading_from
from pitlake.lake.mounting.rows import Rows
from pitlake.lake.mounting.tables import Delta
from pitlake.lake.storage.remote import endpoint, open_bucket, table_options


def find_objects(url: str, is_text: IsText) -> "Delta | RemoteFiles":
    """Return the Delta table at a URL, or otherwise the files there. Raises BadInput if the store can't be read."""
    delta = Delta(url, table_options(endpoint()))
    return delta if delta.exists() else RemoteFiles(url, is_text)


@dataclass(frozen=True)
class RemoteFiles:
    """Files in an object store. url: s3://bucket/ and a key, a folder or a pattern."""

    url: str
    is_text: IsText = never

    def state(self) -> Hashable:
        """Return a value that changes when the files change. Raises BadInput if no file exists."""
        return tuple(self._files())

    def read(self, connection: duckdb.DuckDBPyConnection, scratch: Path) -> Rows:
        """Download the files into `scratch` and return their rows. Raises BadInput."""
        copies = []
        for number, (key, _) in enumerate(self._files()):
            partitions = [part for part in PurePosixPath(key).parent.parts if "=" in part]
            copy = scratch.joinpath(str(number), *partitions, PurePosixPath(key).name)
            copy.parent.mkdir(parents=True)
            with reading_from(self.url, BaseError), copy.open("wb") as content:
                for chunk in obstore.get(self._bucket, key).stream():
                    content.write(chunk)
            copies.append(str(copy))
        return read_files(connection, copies, PurePosixPath(self.url).name, self.is_text, scratch)

    @property
    def _bucket(self) -> S3Store:
        return open_bucket(self.url.removeprefix(S3).partition("/")[0], endpoint())

    def _files(self) -> list[tuple[str, str]]:
        """Return the keys of the files, each with a value that changes when the content of the file changes."""
        with reading_from(self.url, BaseError):
            files = sorted((entry["path"], str(entry["e_tag"] or entry["last_modified"])) for entry in self._entries())
        if not files:
            raise no_file(self.url)
        return files

    def _entries(self) -> list["obstore.ObjectMeta"]:
        key = self.url.removeprefix(S3).partition("/")[2].strip("/")
        if key and not has_magic(key):
            with suppress(FileNotFoundError):
                return [obstore.head(self._bucket, key)]
        pattern = PurePosixPath("/", key, *(() if has_magic(key) else ("*",)))
        folder = next(parent for parent in pattern.parents if not has_magic(str(parent)))
        every = (entry for batch in obstore.list(self._bucket, prefix=str(folder).strip("/")) for entry in batch)
        entries = {PurePosixPath("/", entry["path"]): entry for entry in every}
        if has_magic(key):
            return [entry for path, entry in entries.items() if path.match(str(pattern))]
        within = of_folder([path.relative_to(folder) for path in entries])
        return [entries[folder / path] for path in within]
