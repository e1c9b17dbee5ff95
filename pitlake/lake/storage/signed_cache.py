"""Cached files, such as cuts, mirrors and indexes, which are used only while they are unchanged.

Next to a file is its signature. It covers the SHA-256 of the bytes and the file's facts in the file system: device,
inode, size, and the time of the last change, which no user can set. It is signed with this user's key from another
folder. While these facts stay the same, the bytes need not be read again.
"""

import hashlib
import hmac
import json
import os
import secrets
from contextlib import suppress
from functools import cache
from pathlib import Path

import platformdirs

from pitlake.recorder import drafted, write_whole

SUFFIX = ".sum"
KEY_BYTES = 32

Facts = tuple[int, int, int, int]
_trusted: dict[str, Facts] = {}


def caches() -> Path:
    """Return the folder of this user's caches: $PITLAKE_CACHE, else the system's place for them."""
    folder = os.environ.get("PITLAKE_CACHE")
    return Path(folder) if folder else Path(platformdirs.user_cache_dir("pitlake"))


def signature_path(path: Path) -> Path:
    return path.with_name(path.name + SUFFIX)


def sign(path: Path) -> None:
    """Write the signature of a file that was just written, at its final path."""
    with path.open("rb") as file:
        facts = _facts(file.fileno())
        _write(path, _sha256(file.fileno()), facts)
    _trusted[str(path)] = facts


def is_intact(path: Path, descriptor: int) -> bool:
    """Return whether the open file is, byte for byte, the one that was signed at this path."""
    now = _facts(descriptor)
    if _trusted.get(str(path)) == now:
        return True
    signature = _read(path)
    if signature is None:
        return False
    digest, facts = signature
    if facts != now:
        if _sha256(descriptor) != digest:
            return False
        _write(path, digest, now)
    _trusted[str(path)] = now
    return True


def _facts(descriptor: int) -> Facts:
    stat = os.fstat(descriptor)
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_ctime_ns


def _sha256(descriptor: int) -> str:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(path: Path, digest: str, facts: Facts) -> None:
    content = json.dumps([digest, facts, _hmac(path, digest, facts)])
    with suppress(OSError):  # An unsigned file is written again, which only takes longer.
        write_whole(signature_path(path), content.encode())


def _read(path: Path) -> tuple[str, Facts] | None:
    try:
        digest, facts, signature = json.loads(signature_path(path).read_bytes())
        file_facts: Facts = tuple(facts)
        right = hmac.compare_digest(signature, _hmac(path, digest, file_facts))
    except (OSError, ValueError, TypeError):
        return None
    return (digest, file_facts) if right else None


def _hmac(path: Path, digest: str, facts: Facts) -> str:
    return hmac.new(_key(), json.dumps([path.name, digest, facts]).encode(), "sha256").hexdigest()


@cache
def _key() -> bytes:
    """Return the user's key, created at its first use. A key that can't be stored is used by this process only."""
    path = Path(platformdirs.user_state_dir("pitlake")) / "signed_cache.key"
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The first of several processes stores its key, completely or not at all.
        with suppress(FileExistsError), drafted(path, mode=0o600, overwrite=False) as file:
            file.write(secrets.token_bytes(KEY_BYTES))
        key = path.read_bytes()
        if len(key) == KEY_BYTES:
            return key
    return secrets.token_bytes(KEY_BYTES)
