"""How fast a provider is asked: its rate, kept in one SQLite file that all runs of a capture store share.

pyrate-limiter counts and a file lock keeps processes apart; here it is only opened and closed.
"""

import time
from pathlib import Path
from types import TracebackType
from typing import Self

from pyrate_limiter import Limiter, Rate, SingleBucketFactory, SQLiteBucket

from pitlake import machine
from resources.http.capture import PLACE
from resources.http.provider import Provider

FOLDER = "_rates"


class RateLimit:
    """Lets as many requests through as the provider's rate allows; a context manager."""

    def __init__(self, provider: Provider, root: Path) -> None:
        self._folder = root / FOLDER
        count, seconds = provider.rate
        rate = Rate(count, round(seconds * 1000))
        path = str(self._folder / f"{provider.name}.sqlite")
        with machine.working_in(PLACE, self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._bucket = SQLiteBucket.init_from_file([rate], db_path=path, use_file_lock=True)
            self._bucket.leak(time.time_ns() // 1_000_000)
        # Leaking is done on opening: the library's own thread would outlive its connection.
        self._limiter = Limiter(SingleBucketFactory(self._bucket, schedule_leak=False))

    def wait(self, seconds: float) -> bool:
        """Wait until another request may be made, but no longer than that; says whether it may."""
        with machine.working_in(PLACE, self._folder):
            return bool(self._limiter.try_acquire("request", timeout=seconds))

    def close(self) -> None:
        """Close the file."""
        self._limiter.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
