"""Two lanes for a server's questions, so that slow ones don't delay quick ones.

A question begins in the quick lane. If it uses more than `PATIENCE` of its process's time, or more than `PRESSED` while
others wait, it is stopped and restarted in the slow lane, where only the session's limits apply. The lanes measure CPU
time, so a quick question stays in the quick lane even on a busy machine. Both lanes and their queues are limited, and
fair among clients (pitlake.serving.turns).
"""

import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from pitlake.errors import SessionError
from pitlake.serving.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from pitlake.session import Session

Asked = TypeVar("Asked")

QUICK, SLOW = 4, 2
"""The number of parallel sessions in each lane."""
PATIENCE, PRESSED = 1.0, 0.3
"""The CPU seconds that a question may use in the quick lane: alone, and while others wait."""
LATEST, GRACE, LOOK = 5.0, 0.5, 0.1
"""Wall-clock seconds: the limit of a quick question, its time to stop, and the time between two checks."""
WAITING, WAITING_IN_ALL, LONGEST_WAIT = 6, 24, 180.0
"""The most slow questions that may wait, per client and in total, and the seconds that they may wait."""
HURRYING, HURRYING_IN_ALL = 64, 128
"""The most quick questions that may wait, per client and in total."""


class Lanes:
    """The lanes of one server. Safe for threads."""

    def __init__(self) -> None:
        self._quick = Turns(QUICK, HURRYING, HURRYING_IN_ALL)
        self._slow = Turns(SLOW, WAITING, WAITING_IN_ALL, LONGEST_WAIT)

    def ask(
        self, open_session: "Callable[[], AbstractContextManager[Session]]", ask: "Callable[[Session], Asked]"
    ) -> "Asked":
        """Call `ask` with a session from `open_session`. Raises ServerBusy if too many other questions wait."""
        with suppress(_Slow), self._quick.turn(), open_session() as session, _stopped_when_late(session, self._quick):
            return ask(session)
        with self._slow.turn(), open_session() as session:
            return ask(session)


class _Slow(Exception):
    """The question was stopped because it took too long."""


@contextmanager
def _stopped_when_late(session: "Session", turns: Turns) -> "Iterator[None]":
    done, late = threading.Event(), threading.Event()
    started, used = time.monotonic(), session.cpu_seconds()

    def is_late() -> bool:
        allowed = PRESSED if turns.wanted else PATIENCE
        return session.cpu_seconds() - used >= allowed or time.monotonic() - started >= LATEST

    def watch() -> None:
        while not done.wait(LOOK):
            if is_late():
                late.set()
                session.interrupt()
                if not done.wait(GRACE):
                    session.close()
                return

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
