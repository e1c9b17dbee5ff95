"""anatid: a memory that is written at the instants of delivery and read by `as_of`."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from anatid import Anatid as Store

from asofbench.adapters.base import Rows
from asofbench.adapters.memory import Memory


class Anatid(Memory):
    """Both of its clocks are set by `now`; `valid_from` is when a row was public."""

    def remember(self, rows: Rows) -> None:
        """Remember each row as of when it was loaded."""
        self.store = Store.open(str(self.folder / "facts.anatid"), tenant=1, threads=1)
        ids: dict[tuple[str, str], int] = {}
        for row in rows:
            key, now, content = (row["entity"], row["item"]), row["loaded_at"], self.content(row)
            if key in ids:
                ids[key] = self.store.supersede(ids[key], content, now=now).memory_id
            else:
                valid = {} if row["available_at"] is None else {"valid_from": row["available_at"]}
                ids[key] = self.store.remember(content, entities=[row["entity"]], now=now, **valid).memory_id
            self.memories.append((ids[key], row))

    def forget(self, memories: list[Any]) -> None:
        """Erase memories, with all of their versions."""
        for memory in memories:
            self.store.forget(memory, hard=True)
        self.store.checkpoint()

    def about(self, entity: str, *at: datetime | None) -> Iterable[str]:
        """Return the context of an entity."""
        when = {"as_of": at[0]} if at else {}
        return [memory.content for memory in self.store.context(entity, limit=1000, **when)]

    def found(self, term: str, at: datetime) -> Iterable[str]:
        """Return the memories that a recall finds."""
        return [hit.content for hit in self.store.as_of(at).recall(term, k=1000)]

    def close(self) -> None:
        """The store."""
        self.store.close()
