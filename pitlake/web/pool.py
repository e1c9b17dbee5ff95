"""Sealed sessions kept open while a reader looks around: one an instant, few at a time, closed when idle."""

import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any

from pitlake.errors import SessionLost
from pitlake.lake.lake import Lake
from pitlake.session import Limits, Session, connect
from pitlake.web.questions import datasets

MOST, IDLE_SECONDS = 4, 120.0
LIMITS = Limits(rows=100_000, bytes=64 << 20, seconds=20.0, memory=4 << 30)


@dataclass
class _Kept:
    session: Session
    used_at: float
    lock: Lock = field(default_factory=Lock)


class Pool:
    """Sessions by instant and lake version. most: how many stay open; idle: seconds after which one is closed.

    A session answers one request at a time; a request that finds it busy waits.
    """

    def __init__(self, lake: str | Path | None, isolation: Any, most: int = MOST, idle: float = IDLE_SECONDS) -> None:
        self.lake = Lake(lake)
        self.isolation, self._most, self._idle = isolation, most, idle
        self._kept: OrderedDict[tuple[datetime, int], _Kept] = OrderedDict()
        self._lock = Lock()

    @contextmanager
    def session(self, as_of: datetime) -> Iterator[Session]:
        """A session of the newest version as of an instant, for this request alone. Raises what `connect` raises."""
        key = (as_of, self.lake.head())
        kept = self._one(key)
        try:
            with kept.lock:
                yield kept.session
        except SessionLost:
            self._drop(key, kept)
            raise
        finally:
            kept.used_at = time.monotonic()
            self.sweep()

    def sweep(self) -> None:
        """Close what has been idle too long, and the least recently used beyond the bound."""
        with self._lock:
            idle = [key for key, kept in self._kept.items() if time.monotonic() - kept.used_at > self._idle]
            beyond = list(self._kept)[: max(0, len(self._kept) - self._most)]
            found = [
                (key, self._kept[key]) for key in dict.fromkeys([*idle, *beyond]) if not self._kept[key].lock.locked()
            ]
            for key, _ in found:
                del self._kept[key]
        for _, kept in found:
            kept.session.close()

    def close(self) -> None:
        """End every session."""
        with self._lock:
            ended, self._kept = list(self._kept.values()), OrderedDict()
        for kept in ended:
            kept.session.close()

    def __len__(self) -> int:
        return len(self._kept)

    def _one(self, key: tuple[datetime, int]) -> _Kept:
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                as_of, version = key
                opened = connect(
                    as_of, version=version, lake=self.lake, isolation=self.isolation, datasets=datasets(), limits=LIMITS
                )
                kept = self._kept[key] = _Kept(opened, time.monotonic())
            self._kept.move_to_end(key)
            return kept

    def _drop(self, key: tuple[datetime, int], kept: _Kept) -> None:
        with self._lock:
            if self._kept.get(key) is kept:
                del self._kept[key]
        kept.session.close()
