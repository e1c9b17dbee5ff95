"""Two lanes for a server's questions, so that slow ones don't hold up quick ones.

A question begins in the quick lane. One that is not answered within `PATIENCE` is stopped and asked again in the slow
lane, where it may take as long as the session's limits allow. Both are bounded, and so is the wait for the second.
"""

import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from pitlake.errors import SessionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from pitlake.session import Session

Asked = TypeVar("Asked")

QUICK, SLOW = 4, 2
"""Sessions at once in each lane."""
PATIENCE, GRACE = 1.0, 0.5
"""Seconds a question may take in the quick lane, and to stop when it took longer."""
WAITING = 8
"""Slow questions at once, those that run included."""


class Lanes:
    """The lanes of one server. Safe for threads."""

    def __init__(self) -> None:
        self._quick, self._slow = threading.BoundedSemaphore(QUICK), threading.BoundedSemaphore(SLOW)
        self._waiting = threading.Semaphore(WAITING)

    def ask(
        self, opened: "Callable[[], AbstractContextManager[Session]]", ask: "Callable[[Session], Asked]"
    ) -> "Asked":
        """What `ask` gives for a session that `opened` opens. Raises SessionError when too many slow ones wait."""
        with suppress(_Slow), self._quick, opened() as session, _stopped_after(session, PATIENCE):
            return ask(session)
        if not self._waiting.acquire(blocking=False):
            raise SessionError(f"{WAITING} slow questions are being answered; ask for less, or again in a minute")
        try:
            with self._slow, opened() as session:
                return ask(session)
        finally:
            self._waiting.release()


class _Slow(Exception):
    """The question was stopped, because it was not answered in time."""


@contextmanager
def _stopped_after(session: "Session", seconds: float) -> "Iterator[None]":
    done, late = threading.Event(), threading.Event()

    def watch() -> None:
        if done.wait(seconds):
            return
        late.set()
        session.interrupt()
        if not done.wait(GRACE):
            session.close()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except SessionError:
        if late.is_set():
            raise _Slow from None
        raise
    finally:
        done.set()
        watcher.join()
