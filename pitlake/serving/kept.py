"""Sessions that stay open between the calls of a client, so that the next call need not wait for a new session.

A session that a call has changed is closed after the call, so a call sees nothing of another. Unless clients share
sessions, a session is lent only to the client for which it was opened. If work goes forward in time, an idle session is
moved to a later instant, which makes it equal to a session opened there.
"""

import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from threading import Lock, Thread

from pitlake.errors import PitlakeError
from pitlake.serving.turns import client
from pitlake.session import Limits, Session, Viewpoint, open_session

OF_CLIENT, IN_ALL, IDLE_SECONDS = 4, 12, 120.0
"""The idle sessions to keep per client and in all, and the seconds to keep them."""
MOST_BYTES = 256 << 20
"""The most memory that the process of an idle session may have."""

_Key = tuple[str, Viewpoint, int, tuple[str, ...] | None]


@dataclass(frozen=True)
class _Idle:
    key: _Key
    session: Session
    since: float


class KeptSessions:
    """Sessions by client, viewpoint, lake version and datasets. Thread-safe.

    idle: the seconds after which the next call closes an idle session. moves: whether calls go forward in time, so that
    sessions move too. shared: whether clients share sessions.
    """

    def __init__(
        self, limits: Limits | None, idle: float = IDLE_SECONDS, *, moves: bool = False, shared: bool = False
    ) -> None:
        self._limits, self._idle_seconds, self._moves, self._is_shared = limits, idle, moves, shared
        self._lock, self._idle = Lock(), list[_Idle]()  # Close the least recently used sessions first.
        self._in_use, self._is_closed = list[Session](), False
        self._ahead: Thread | None = None

    def open_ahead(self, viewpoint: Viewpoint) -> None:
        """Open a session of all datasets in the background, for the first call. That call waits for it."""

        def open_one() -> None:
            # A call meets the same PitlakeError and reports it. A RuntimeError means that the program is ending.
            with suppress(PitlakeError, RuntimeError), self._lent(viewpoint, None):
                pass

        self._ahead = Thread(target=open_one)
        self._ahead.start()

    @contextmanager
    def session(self, viewpoint: Viewpoint, datasets: Collection[str] | None) -> Iterator[Session]:
        """Lend an unchanged session to this thread's client. Raises the errors of opening a session."""
        if self._ahead:
            self._ahead.join()
        with self._lent(viewpoint, datasets) as session:
            yield session

    @contextmanager
    def _lent(self, viewpoint: Viewpoint, datasets: Collection[str] | None) -> Iterator[Session]:
        names = None if datasets is None else tuple(sorted(set(datasets)))
        of_client = "" if self._is_shared else client.get()
        session = self._taken((of_client, viewpoint, viewpoint.snapshot().version, names))
        session = session or open_session(viewpoint, datasets=names, limits=self._limits)
        with self._lock:
            self._in_use.append(session)
        try:
            yield session
        finally:
            key = (of_client, viewpoint, session.version, names)
            keep = session.is_as_opened and session.resident_bytes() <= MOST_BYTES
            with self._lock:
                self._in_use.remove(session)
                keep = keep and not self._is_closed
                if keep:
                    self._idle.append(_Idle(key, session, time.monotonic()))
            if not keep:
                session.close()
            self.sweep()

    def close(self) -> None:
        """End every session, including those in use, and keep no more."""
        with self._lock:
            ended, self._idle = [*(each.session for each in self._idle), *self._in_use], []
            self._is_closed = True
        for session in ended:
            session.close()

    def sweep(self) -> None:
        """Close sessions that were idle for too long, and the least recently used ones beyond the limits."""
        long_ago = time.monotonic() - self._idle_seconds
        with self._lock:
            remaining, of_client = list[_Idle](), Counter[str]()
            for each in reversed(self._idle):
                of_client[each.key[0]] += 1
                if each.since >= long_ago and of_client[each.key[0]] <= OF_CLIENT and len(remaining) < IN_ALL:
                    remaining.insert(0, each)
            ended = [each for each in self._idle if each not in remaining]
            self._idle = remaining
        for each in ended:
            each.session.close()

    def __len__(self) -> int:
        return len(self._idle)

    def _taken(self, key: _Key) -> Session | None:
        with self._lock:
            idle = next((each for each in reversed(self._idle) if each.key == key), None)
            if idle is None and self._moves:
                idle = next((each for each in self._idle if _goes_forward(each.key, key)), None)
            if idle is None:
                return None
            self._idle.remove(idle)
        session, as_of = idle.session, key[1].as_of
        try:
            if session.is_as_opened:
                if as_of:
                    session.advance(as_of)
                return session
        except BaseException:
            session.close()
            raise
        session.close()
        return None


def _goes_forward(before: _Key, after: _Key) -> bool:
    """Return whether the keys differ only in their instants and the second instant is later."""
    (_, earlier, *_), (client_after, later, *others) = before, after
    if earlier.as_of is None or later.as_of is None or earlier.as_of > later.as_of:
        return False
    return before == (client_after, replace(later, as_of=earlier.as_of), *others)
