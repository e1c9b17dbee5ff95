"""plugmem: a memory that dates its entries by the machine's clock and is read by `as_of`."""

import time
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

import plugmem

from asofbench.adapters.base import Rows
from asofbench.adapters.memory import Memory

_LONGER_THAN_A_TICK = 0.002


class Plugmem(Memory):
    """T is the machine's time when the last delivery up to it was written."""

    def remember(self, rows: Rows) -> None:
        """Remember each row, or revise the memory of its subject. The store's clock ticks once a millisecond."""
        self.store = plugmem.Plugmem.open(str(self.folder / "facts.plugmem"))
        self.written = [(datetime.min.replace(tzinfo=timezone.utc), _milliseconds() - 1)]
        ids: dict[tuple[str, str], int] = {}
        for row in rows:
            if row["loaded_at"] != self.written[-1][0]:
                time.sleep(_LONGER_THAN_A_TICK)
            key, content = (row["entity"], row["item"]), self.content(row)
            if key in ids:
                ids[key] = self.store.revise(ids[key], content, entity=row["entity"]).id
            else:
                ids[key] = self.store.remember(content, entity=row["entity"]).id
            self.written.append((row["loaded_at"], _milliseconds()))
            self.memories.append((ids[key], row))

    def forget(self, memories: list[Any]) -> None:
        """Forget memories, and remove them physically."""
        self.store.forget_many(memories)
        self.store.maintain("full")
        self.store.checkpoint()

    def about(self, entity: str, *at: datetime | None) -> Iterable[str]:
        """Return the memories that a recall finds about an entity."""
        return self._recalled(*at, entities=[entity])

    def found(self, term: str, at: datetime) -> Iterable[str]:
        """Return the memories that a recall finds."""
        return self._recalled(at, query=term)

    def _recalled(self, *at: datetime | None, **about: Any) -> Iterable[str]:
        when = {"as_of": at[0] and max(done for arrival, done in self.written if arrival <= at[0])} if at else {}
        facts = self.store.recall(k=1000, **about, **when).facts
        return [self.store.get(fact.id).text for fact in facts]

    def close(self) -> None:
        """The store."""
        self.store.close()


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000
