"""What records on disk rely on: files that are whole or absent, locks that end with their process, and hashes."""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO


@contextmanager
def drafted(
    path: Path, *, folder: Path | None = None, mode: int = 0o666, overwrite: bool = True, durable: bool = False
) -> Iterator[BinaryIO]:
    """Yield a draft that gets its path at the end of the block. A block that raises leaves nothing.

    folder: the draft's folder, on the same disk. durable: force the draft to disk before it gets its path. Raises
    FileExistsError if the path exists and is not to be overwritten.
    """
    draft = (folder or path.parent) / f".{os.urandom(16).hex()}.tmp"
    try:
        with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if overwrite:
            draft.replace(path)
        else:
            path.hardlink_to(draft)
    finally:
        draft.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file completely or not at all."""
    with drafted(path) as file:
        file.write(content)


def lock(file: int | IO[Any], *, wait: bool = False) -> bool:
    """Lock an open file until it is closed, even by a kill. Return whether it was free. wait: wait until it is free."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def canonical(value: Any) -> str:
    """Return the canonical JSON text of a value. The text is ASCII-only, so that lone surrogates survive."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()
