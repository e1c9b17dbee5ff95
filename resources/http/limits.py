"""The rate limit of a provider, in one small file that all runs of a capture store share.

The file is a ring of the instants of the last requests, as many as the rate allows in its period, with a system lock.
The next request waits until the oldest instant is that period ago.
"""

import fcntl
import os
import struct
import time
from pathlib import Path
from typing import Self

from pitlake import machine
from resources.http.capture import PLACE
from resources.http.provider import Provider

FOLDER = "_rates"
_COUNT, _INSTANT = struct.Struct("<Q"), struct.Struct("<d")


class RateLimit:
    """A context manager that limits requests to the provider's rate."""

    def __init__(self, provider: Provider, root: Path) -> None:
        self._folder = root / FOLDER
        self._count, self._seconds = provider.rate
        with machine.working_in(PLACE, self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            name = f"{provider.name}-{self._count}-{self._seconds:g}.ring"
            self._file = os.open(self._folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def wait(self, seconds: float) -> bool:
        """Wait until another request is allowed, for at most `seconds`. Return whether it is allowed."""
        ends = time.monotonic() + seconds
        with machine.working_in(PLACE, self._folder):
            while (rest := self._taken()) > 0:
                left = ends - time.monotonic()
                time.sleep(max(min(rest, left), 0.0))
                if rest > left:
                    return False
        return True

    def _taken(self) -> float:
        """Replace the oldest request with a request made now, or return how long to wait."""
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            (count,) = _COUNT.unpack(self._read(0))
            place = _COUNT.size + _INSTANT.size * (count % self._count)
            (oldest,), now = _INSTANT.unpack(self._read(place)), time.monotonic()
            rest: float = oldest + self._seconds - now
            # An instant after the current time was written before the machine was restarted.
            if oldest and oldest <= now and rest > 0:
                return rest
            os.pwrite(self._file, _INSTANT.pack(now), place)
            os.pwrite(self._file, _COUNT.pack(count + 1), 0)
            return 0.0
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _read(self, place: int) -> bytes:
        return os.pread(self._file, _INSTANT.size, place).ljust(_INSTANT.size, b"\0")

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
