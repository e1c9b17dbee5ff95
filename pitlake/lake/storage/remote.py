"""A lake in an object store (S3 or compatible). All files are stored there, and data files also in a local mirror.

Files of a lake never change and names are never reused, so a copy on this machine is identical to the file. Publishing,
sessions and compaction read the mirror, which is filled on demand and may be removed at any time. Credentials and
endpoint come from the usual AWS_* variables.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

from pitlake import machine
from pitlake.errors import BadInput, LakeError
from pitlake.lake.storage import signed_cache
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.storage.parallel import each
from pitlake.lake.storage.store import Store, StoredFile
from pitlake.recorder import drafted

ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


class RemoteStore(Store):
    """The files below s3://bucket/prefix; `root` is their mirror on this machine.

    Writers need a store that honours conditional writes (If-None-Match), so that only one of two racing commits
    succeeds.
    """

    at_once = 32
    _errors = (OSError, BaseError)

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if not parts.netloc or parts.query or parts.fragment or "@" in parts.netloc:
            raise BadInput("lake", f"{parts.scheme}:// root without a plain bucket", "give s3://bucket/prefix")
        self._bucket, self._prefix = parts.netloc, parts.path.strip("/")
        location = f"s3://{self._bucket}/{self._prefix}".rstrip("/")
        self._endpoint = endpoint()
        super().__init__(
            signed_cache.caches() / "mirror" / hashlib.sha256(f"{self._endpoint} {location}".encode()).hexdigest()[:32]
        )
        self.location = location
        self.table_options = table_options(self._endpoint)

    @cached_property
    def _remote(self) -> S3Store:
        return open_bucket(self._bucket, self._endpoint, self._prefix)

    def table_uri(self, key: str) -> str:
        """Return the URI of the Delta table below a key."""
        return f"{self.location}/{key}"

    def exists(self, key: str) -> bool:
        """Return whether there is such a file."""
        with self._reached():
            try:
                obstore.head(self._remote, key)
            except FileNotFoundError:
                return False
            return True

    def read(self, key: str) -> bytes:
        """Return the bytes of a small file. A truncated response is requested again. Raises FileNotFoundError."""
        with self._reached():
            try:
                return bytes(obstore.get(self._remote, key).bytes())
            except BaseError:
                return bytes(obstore.get(self._remote, key).bytes())

    def _put(self, key: str, content: bytes, *, overwrite: bool) -> None:
        with self._reached():
            try:
                obstore.put(self._remote, key, content, mode="overwrite" if overwrite else "create")
            except AlreadyExistsError:
                raise FileExistsError(key) from None

    def keep(self, path: Path) -> None:
        """Send a finished file of the mirror to the object store."""
        with self._reached():
            obstore.put(self._remote, self.key(path), path)
        signed_cache.sign(path)

    def forget_time(self, path: Path) -> None:
        """Remove the modification time of the mirror's copy. Each machine does this for its own copy."""
        super().forget_time(path)
        signed_cache.sign(path)

    def settle(self, key: str) -> None:
        """Do nothing, because Delta's writes are durable once they are acknowledged."""

    def fetch(self, files: Iterable[DataFile]) -> None:
        """Download files that the mirror lacks or that changed. Raises LakeError if one is missing or truncated."""
        both = (part for file in files for part in (file, file.beside) if part)
        each(self._bring, [file for file in both if not _mirrored(Path(file.path))])

    def holds(self, file: DataFile) -> bool:
        """Return whether the object store still has a file."""
        return self.exists(self.key(file.path))

    def walk(self, folder: str) -> Iterator[StoredFile]:
        """Yield every file below a folder, in no order; none if the folder is missing."""
        with self._reached():
            for batch in obstore.list(self._remote, prefix=folder):
                for entry in batch:
                    yield StoredFile(entry["path"], entry["size"], entry["last_modified"].timestamp())

    def delete(self, *keys: str) -> None:
        """Remove files. Removing a missing file is not an error."""
        with self._reached():
            obstore.delete(self._remote, list(keys))
        for path in map(self.path, keys):
            for copy in (path, signed_cache.signature_path(path)):
                copy.unlink(missing_ok=True)

    def _bring(self, file: DataFile) -> None:
        with machine.working_in("the cache", self.root):
            path = Path(file.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            key = self.key(path)
            place = f"{self.location}/{key}"
            try:
                with drafted(path) as copy:
                    with self._reached():
                        for chunk in obstore.get(self._remote, key).stream():
                            copy.write(chunk)
                    if copy.tell() != file.size:
                        raise LakeError(f"{place} is not the {file.size} bytes the lake wrote; restore it")
                self.forget_time(path)
            except FileNotFoundError:
                raise LakeError(f"{place} is missing; use a newer version, or restore the file") from None


def _mirrored(path: Path) -> bool:
    with suppress(FileNotFoundError), path.open("rb") as file:
        return signed_cache.is_intact(path, file.fileno())
    return False


def endpoint() -> str:
    """Return the address of the object store in the environment; "" for Amazon's."""
    return next((value for name in ENDPOINT_VARIABLES if (value := os.environ.get(name))), "")


def open_bucket(bucket: str, address: str, prefix: str = "") -> S3Store:
    """Return a bucket at an endpoint, with the credentials of the environment."""
    store: S3Store = S3Store(
        bucket,
        prefix=prefix or None,
        client_options={"allow_http": address.startswith("http://")},
        config={"endpoint": address} if address else {},
    )
    return store


def table_options(address: str) -> dict[str, str]:
    """Return the options with which Delta reaches tables at an endpoint."""
    options = {"aws_conditional_put": "etag"}
    if address:
        options["aws_endpoint_url"] = address
    if address.startswith("http://"):
        options["aws_allow_http"] = "true"
    return options
