"""The commit queue: a slow writer that keeps losing the race can reserve the next commit.

The queue only makes commits fair; the log makes them safe. A turn is a small file, written only if absent, whose name
contains the dataset's pinned versions. A turn therefore ends with the next commit. Its writer also removes it at the
end, because there may be nothing left to commit. A dead writer delays others only for a while. A writer that checked
before the file existed may still commit first once; after that it waits too.
"""

import random
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar
from uuid import uuid4

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, stop_after_delay, wait_random_exponential

from pitlake.contract import gap_table_name
from pitlake.errors import LakeConflict, LakeError
from pitlake.lake.storage.log import Entry, LakeLog
from pitlake.lake.storage.store import Store
from pitlake.lake.tables.compacted import observed_table_name
from pitlake.tombstones import superseded_table_name

TURNS = "_lake/turns"
PATIENCE_SECONDS = 10.0
PATIENCE_ATTEMPTS = 3
LOOK_AGAIN_SECONDS = 0.4
FEWEST_ATTEMPTS = 20
SHORTEST_SECONDS = 600.0
RETRY = Retrying(
    retry=retry_if_exception_type(LakeConflict),
    stop=stop_after_attempt(FEWEST_ATTEMPTS) & stop_after_delay(SHORTEST_SECONDS),
    wait=wait_random_exponential(multiplier=0.02, max=1.0),
    reraise=True,
)

Result = TypeVar("Result")


class WriterTurn:
    """A writer of a dataset while it tries to commit."""

    def __init__(self, store: Store, log: LakeLog, dataset: str) -> None:
        self._store, self._log, self._dataset = store, log, dataset
        self._tables = (dataset, gap_table_name(dataset), superseded_table_name(dataset), observed_table_name(dataset))
        self._writer = uuid4().hex
        self._slowest = 0.0
        self._first_seen: dict[str, float] = {}
        self._turns: list[str] = []

    def attempts(self, work: Callable[["WriterTurn"], Result]) -> Result:
        """Run `work`. If it raises LakeConflict, repeat it with a reserved turn.

        `work` calls `check` before it commits. Raises the last LakeConflict after FEWEST_ATTEMPTS attempts that took at
        least SHORTEST_SECONDS.
        """
        try:
            result: Result = RETRY.copy()(self._attempt, work)
            return result
        finally:
            for key in self._turns:
                with suppress(LakeError):  # A turn that stays only delays others for a while.
                    self._store.delete(key)

    def check(self, base: Entry) -> None:
        """Raise LakeConflict if another writer has the turn to commit on top of `base`."""
        if self._is_taken_by_another(self._key(base)):
            raise LakeConflict(f"another writer of {self._dataset} goes first; nothing was published, run again")

    def _attempt(self, work: Callable[["WriterTurn"], Result]) -> Result:
        if self._slowest:  # Another writer committed during an earlier attempt.
            self._take()
        start = time.monotonic()
        try:
            return work(self)
        finally:
            self._slowest = max(self._slowest, time.monotonic() - start)

    def _take(self) -> None:
        while True:
            key = self._key(self._log.head())
            if not self._is_taken_by_another(key):
                # The turn lasts for several attempts, because a writer that has already started may still commit first.
                seconds = max(PATIENCE_SECONDS, PATIENCE_ATTEMPTS * self._slowest)
                if self._store.put_new(key, f"{self._writer} {seconds:.1f}".encode()):
                    self._turns.append(key)
                if not self._is_taken_by_another(key):
                    return
            time.sleep(random.uniform(0, LOOK_AGAIN_SECONDS))  # noqa: S311 - the first to look is next

    def _is_taken_by_another(self, key: str) -> bool:
        # Clocks may differ, so a turn lasts from when this writer first saw it.
        try:
            writer, seconds = self._store.read(key).decode().split()
            lasts = min(float(seconds), SHORTEST_SECONDS)
        except (FileNotFoundError, ValueError):
            return False
        now = time.monotonic()
        return writer != self._writer and now - self._first_seen.setdefault(key, now) < lasts

    def _key(self, base: Entry) -> str:
        pins = ".".join(str(base.tables.get(table, "none")) for table in self._tables)
        return f"{TURNS}/{self._dataset}/{pins}"
