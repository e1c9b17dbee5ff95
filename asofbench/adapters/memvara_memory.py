"""memvara: a bitemporal memory, read by `as_of`. It needs a newer SQLite than many builds of Python have."""

import sys
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import pysqlite3

sys.modules["sqlite3"] = pysqlite3

from memvara import HashingEmbedder, Memvara  # noqa: E402 - after the SQLite that it is to use

from asofbench.adapters.base import Rows  # noqa: E402
from asofbench.adapters.memory import Memory  # noqa: E402
from asofbench.model import Question, read  # noqa: E402


class MemvaraMemory(Memory):
    """A claim is recorded when its row was loaded, and valid from when the row was public."""

    bound: datetime | None = None

    def remember(self, rows: Rows) -> None:
        """Record each row; a further delivery of a record replaces the claim before."""
        self._open()
        ids: dict[tuple[str, str], str] = {}
        for row in rows:
            key = (row["entity"], row["item"])
            dates = {"recorded_at": row["loaded_at"]}
            if row["available_at"] is not None:
                dates["valid_from"] = row["available_at"]
            before = {"replaces": ids[key], "close": "retired"} if key in ids else {}
            receipt = self.store.remember(*key, self.content(row), user=row["entity"], **dates, **before)
            ids[key] = receipt.added[0].id
            self.memories.append((ids[key], row))

    def forget(self, memories: list[Any]) -> None:
        """Erase claims, and open the store again."""
        users = {memory: row["entity"] for memory, row in self.memories}
        for memory in memories:
            self.store.erase(memory, user=users[memory], sources=True)
        self.store.close()  # SQLite's write-ahead log has the claims until then
        self._open()

    def _open(self) -> None:
        self.store = Memvara(str(self.folder / "facts.memvara"), embedder=HashingEmbedder())

    def ask(self, question: Question) -> Any:
        """Ask as of T, with what was recorded by `loaded_by` if that is stated."""
        self.bound = read(question.loaded_by) if question.loaded_by else None
        return super().ask(question)

    def visible_by(self, at: datetime, loaded_by: datetime) -> Rows:
        """Return the claims that were valid at T as of what was recorded by another instant."""
        return self.visible(at)

    def about(self, entity: str, *at: datetime | None) -> Iterable[str]:
        """Return the claims about an entity."""
        when: dict[str, Any] = {"as_of": at[0]} if at else {}
        if self.bound is not None:
            when = {"valid_at": at[0], "known_at": self.bound}
        return [claim.object for claim in self.store.get_all(user=entity, **when)]

    def found(self, term: str, at: datetime) -> Iterable[str]:
        """Return the claims that a search finds in all scopes that it is asked of."""
        hits = [hit for entity in self.entities for hit in self.store.search(term, k=1000, user=entity, as_of=at)]
        return [hit.claim.object for hit in hits]

    def close(self) -> None:
        """The store."""
        self.store.close()
