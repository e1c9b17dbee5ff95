"""Sealed sessions kept open while a reader looks around: one an instant, few at a time, closed when idle.

Readers take turns at them, fair among clients (pitlake.serving.turns).
"""

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
from pitlake.serving.turns import Turns
from pitlake.session import Limits, Session, Viewpoint, open_session
from pitlake.web.questions import datasets

MOST, IDLE_SECONDS = 4, 120.0
AT_ONCE, WAITING, WAITING_IN_ALL = 4, 32, 128
"""Questions answered at once, and those that wait, of one client and of all."""
LIMITS = Limits(rows=100_000, bytes=64 << 20, seconds=20.0, memory=4 << 30)


@dataclass
class _Kept:
    """A session, None while none is open, and how many have it or wait for it."""

    session: Session | None = None
    users: int = 0
    used_at: float = 0.0
    lock: Lock = field(default_factory=Lock)


class Pool:
    """Sessions by instant and lake version. most: how many stay open; idle: seconds after which one is closed.

    A session answers one request at a time; a request that finds it busy, or being opened, waits. `turns`: what a
    question takes that opens a session of its own.
    """

    def __init__(self, lake: str | Path | None, isolation: Any, most: int = MOST, idle: float = IDLE_SECONDS) -> None:
        self.lake = Lake(lake)
        self.isolation, self._most, self._idle = isolation, most, idle
        self.turns = Turns(AT_ONCE, WAITING, WAITING_IN_ALL)
        self._kept: OrderedDict[tuple[datetime, int], _Kept] = OrderedDict()
        self._lock = Lock()

    @contextmanager
    def session(self, as_of: datetime) -> Iterator[Session]:
        """A session of the newest version as of an instant, for this request alone.

        Raises ServerBusy, and what `connect` raises.
        """
        with self.turns.turn():
            yield from self._of(as_of)

    def _of(self, as_of: datetime) -> Iterator[Session]:
        key = (as_of, self.lake.head())
        with self._lock:
            kept = self._kept.setdefault(key, _Kept())
            kept.users += 1
            self._kept.move_to_end(key)
        try:
            with kept.lock:
                yield from self._lent(kept, *key)
        finally:
            with self._lock:
                kept.users, kept.used_at = kept.users - 1, time.monotonic()
            self.sweep()

    def sweep(self) -> None:
        """Close what nobody uses and has been idle too long, or is the least recently used beyond the bound."""
        with self._lock:
            free = {key: kept for key, kept in self._kept.items() if not kept.users}
            long_ago = time.monotonic() - self._idle
            idle = [key for key, kept in free.items() if kept.session is None or kept.used_at < long_ago]
            beyond = list(free)[: max(0, len(self._kept) - self._most)]
            ended = [self._kept.pop(key) for key in dict.fromkeys([*idle, *beyond])]
        _end(ended)

    def close(self) -> None:
        """End every session, also those in use, and keep none any more."""
        self._most = 0
        self.sweep()
        _end(list(self._kept.values()))

    def __len__(self) -> int:
        return len(self._kept)

    def _lent(self, kept: _Kept, as_of: datetime, version: int) -> Iterator[Session]:
        """The session, opened where none is; gone where it was lost, so that the next one to have it opens another."""
        viewpoint = Viewpoint(as_of=as_of, version=version, lake=self.lake, isolation=self.isolation)
        lent = kept.session or open_session(viewpoint, datasets=datasets(), limits=LIMITS)
        kept.session = lent
        try:
            yield lent
        except SessionLost:
            kept.session = None
            lent.close()
            raise


def _end(kept: list[_Kept]) -> None:
    for one in kept:
        if one.session is not None:
            one.session.close()
