"""Sealed sessions that stay open while a reader navigates: one per instant, few at a time, closed when idle.

Readers take turns, fair among clients (pitlake.serving.turns).
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

from pitlake.lake.lake import Lake
from pitlake.serving.turns import Turns
from pitlake.session import Limits, Session, Viewpoint, open_session
from pitlake.web.company import own_tables
from pitlake.web.questions import datasets

MOST, IDLE_SECONDS = 4, 120.0
COMPANY_PAGES: tuple[str, ...] = ()
"""Stands for the datasets of a company's pages: those of the questions, and mounted tables that name companies."""
AT_ONCE, WAITING, WAITING_IN_ALL = 4, 32, 128
"""The number of questions answered at once, and of those that wait, for one client and for all."""
LIMITS = Limits(rows=100_000, bytes=64 << 20, seconds=20.0, memory=4 << 30)


@dataclass
class _PooledSession:
    """A session, or None while it is not open, and the number of requests that use it or wait for it."""

    session: Session | None = None
    users: int = 0
    used_at: float = 0.0
    lock: Lock = field(default_factory=Lock)


class Pool:
    """Sessions by instant and lake version. most: the number that stay open; idle: seconds after which one is closed.

    A session answers one request at a time; other requests wait. `turns`: the turns of questions that open a separate
    session.
    """

    def __init__(self, lake: str | Path | None, isolation: Any, most: int = MOST, idle: float = IDLE_SECONDS) -> None:
        self.lake = Lake(lake)
        self.isolation, self._most, self._idle = isolation, most, idle
        self.turns = Turns(AT_ONCE, WAITING, WAITING_IN_ALL)
        self._pooled: OrderedDict[tuple[datetime, int, tuple[str, ...] | None], _PooledSession] = OrderedDict()
        self._lock = Lock()

    @contextmanager
    def session(self, as_of: datetime, names: tuple[str, ...] | None = COMPANY_PAGES) -> Iterator[Session]:
        """Lend a session of the newest version as of an instant to this request. names: its datasets; None for all.

        Raises ServerBusy, and the errors of `connect`.
        """
        with self.turns.turn():
            yield from self._session(as_of, names)

    def _session(self, as_of: datetime, names: tuple[str, ...] | None) -> Iterator[Session]:
        key = (as_of, self.lake.head(), names)
        with self._lock:
            pooled = self._pooled.setdefault(key, _PooledSession())
            pooled.users += 1
            self._pooled.move_to_end(key)
        try:
            with pooled.lock:
                yield from self._use(pooled, *key)
        finally:
            with self._lock:
                pooled.users, pooled.used_at = pooled.users - 1, time.monotonic()
            self.sweep()

    def sweep(self) -> None:
        """Close unused sessions that were idle too long, and the least recently used ones above the limit."""
        with self._lock:
            free = {key: pooled for key, pooled in self._pooled.items() if not pooled.users}
            long_ago = time.monotonic() - self._idle
            idle = [key for key, pooled in free.items() if pooled.session is None or pooled.used_at < long_ago]
            beyond = list(free)[: max(0, len(self._pooled) - self._most)]
            ended = [self._pooled.pop(key) for key in dict.fromkeys([*idle, *beyond])]
        _end(ended)

    def close(self) -> None:
        """End every session, including those in use, and open no more."""
        self._most = 0
        self.sweep()
        _end(list(self._pooled.values()))

    def __len__(self) -> int:
        return len(self._pooled)

    def _use(
        self, pooled: _PooledSession, as_of: datetime, version: int, names: tuple[str, ...] | None
    ) -> Iterator[Session]:
        """Return the session, opened if necessary. A session that is lost, or that a reader's SQL has changed, is
        removed, so that the next request opens another.
        """
        if pooled.session is None:
            if names == COMPANY_PAGES:
                own = own_tables(self.lake.contracts(self.lake.snapshot(version)))
                names = (*datasets(), *(contract.name for contract in own))
            viewpoint = Viewpoint(as_of=as_of, version=version, lake=self.lake, isolation=self.isolation)
            pooled.session = open_session(viewpoint, datasets=names, limits=LIMITS)
        session = pooled.session
        try:
            yield session
        finally:
            if not session.is_as_opened:
                pooled.session = None
                session.close()


def _end(entries: list[_PooledSession]) -> None:
    for pooled in entries:
        if pooled.session is not None:
            pooled.session.close()
