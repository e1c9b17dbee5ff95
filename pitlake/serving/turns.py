"""Distributes a scarce resource, such as sessions, fairly among clients, with a limited wait.

A free place goes to the client with the fewest places, and to the newest of that client's questions. A client with many
slow questions therefore only delays itself.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from pitlake.errors import ServerBusy

client: ContextVar[str] = ContextVar("client", default="")
"""The address whose request this thread answers; empty if there is only one client."""

WAIT_SECONDS = 20.0


@dataclass(eq=False)
class _Waiting:
    client: str
    ready: threading.Event = field(default_factory=threading.Event)


class Turns:
    """A queue for turns. places: turns at a time. line, in_all: the most that may wait, per client and in total."""

    def __init__(self, places: int, line: int, in_all: int, seconds: float = WAIT_SECONDS) -> None:
        self._free, self._line, self._in_all, self._seconds = places, line, in_all, seconds
        self._lock = threading.Lock()
        self._waiting: list[_Waiting] = []
        self._having: Counter[str] = Counter()

    @property
    def wanted(self) -> bool:
        """Return whether a client is waiting for a place."""
        return bool(self._waiting)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a place for the client of this thread. Raises ServerBusy if it takes too long."""
        mine = _Waiting(client.get())
        with self._lock:
            self._waiting.append(mine)
            self._hand_out()
            of_client = sum(waiting.client == mine.client for waiting in self._waiting)
            if mine in self._waiting and (of_client > self._line or len(self._waiting) > self._in_all):
                self._waiting.remove(mine)
                raise ServerBusy(f"{self._line if of_client > self._line else self._in_all} questions are waiting")
        if not mine.ready.wait(self._seconds):
            with self._lock:
                # The turn may have come between the end of the wait and this lock.
                if mine in self._waiting:
                    self._waiting.remove(mine)
                    raise ServerBusy(f"no place was free within {self._seconds:.0f} seconds")
        try:
            yield
        finally:
            with self._lock:
                self._free += 1
                self._having[mine.client] -= 1
                self._having += Counter()  # Unary plus removes clients without a turn.
                self._hand_out()

    def _hand_out(self) -> None:
        while self._free and self._waiting:
            fewest = min(self._having[waiting.client] for waiting in self._waiting)
            following = next(waiting for waiting in reversed(self._waiting) if self._having[waiting.client] == fewest)
            self._waiting.remove(following)
            self._free -= 1
            self._having[following.client] += 1
            following.ready.set()
