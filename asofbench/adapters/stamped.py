"""Memories that filter facts by a stamp: mem0, and the store of LangGraph, in which LangMem keeps memories."""

import json
import os
from abc import abstractmethod
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from asofbench.adapters.base import Rows
from asofbench.adapters.memory import Memory

Fact = dict[str, Any]


class Stamped(Memory):
    """options: unbounded (a further delivery replaces the memory, and no reader states T)."""

    @abstractmethod
    def put(self, entity: str, fact: Fact) -> Any:
        """Store a fact and return its id."""

    @abstractmethod
    def facts(self, entity: str, *until: float | None) -> Iterable[Fact]:
        """Return the stored facts about an entity; those stamped up to `until` if it is stated, which may be None."""

    def remember(self, rows: Rows) -> None:
        """Store each row that is dated."""
        latest: dict[tuple[str, str], Any] = {}
        for row in rows:
            stamp, key = row["available_at"], (row["entity"], row["item"])
            if stamp is None:
                continue
            if self.options.get("unbounded") and key in latest:
                self.forget([latest[key]])
            fact = {"text": self.content(row), "public": stamp.timestamp(), "loaded": row["loaded_at"].timestamp()}
            latest[key] = self.put(row["entity"], fact)
            self.memories.append((latest[key], row))

    def about(self, entity: str, *at: datetime | None) -> Iterable[str]:
        """Return the current text of each item of an entity."""
        until = () if self.options.get("unbounded") else [moment and moment.timestamp() for moment in at]
        facts = sorted(self.facts(entity, *until), key=lambda fact: (fact["public"], fact["loaded"]))
        return {json.loads(fact["text"])[0]: fact["text"] for fact in facts}.values()

    def found(self, term: str, at: datetime) -> Iterable[str]:
        """Return the texts with a word, of all entities."""
        texts = (text for entity in self.entities for text in self.about(entity, at))
        return [text for text in texts if term in text]


class LangGraph(Stamped):
    """A namespace for each entity; `search` filters by the stamp."""

    def remember(self, rows: Rows) -> None:
        """Open the store and write the rows."""
        from langgraph.store.sqlite import SqliteStore

        self.opened = SqliteStore.from_conn_string(str(self.folder / "store.db"))
        self.store = self.opened.__enter__()
        self.store.setup()
        super().remember(rows)

    def put(self, entity: str, fact: Fact) -> tuple[str, str]:
        """Put the fact under a number."""
        key = str(len(self.memories))
        self.store.put((entity,), key, fact)
        return entity, key

    def facts(self, entity: str, *until: float | None) -> Iterable[Fact]:
        """Search the entity's namespace."""
        bound = {"filter": {"public": {"$lte": until[0]}}} if until else {}
        return [item.value for item in self.store.search((entity,), limit=1000, **bound)]

    def forget(self, memories: list[Any]) -> None:
        """Delete the items."""
        for entity, key in memories:
            self.store.delete((entity,), key)

    def close(self) -> None:
        """The store."""
        self.opened.__exit__(None, None, None)


class Mem0(Stamped):
    """An entity is a user, with mem0's vectors of no meaning: it is asked by filters, and no model is called."""

    def remember(self, rows: Rows) -> None:
        """Open the memory and write the rows as they are, without inference."""
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(self.folder)}
        from mem0 import Memory as Store
        from mem0.embeddings.mock import MockEmbeddings
        from mem0.utils.factory import EmbedderFactory, LlmFactory

        EmbedderFactory.create = classmethod(lambda *_, **__: MockEmbeddings())
        LlmFactory.create = classmethod(lambda *_, **__: None)
        vectors = {"path": str(self.folder / "vectors"), "on_disk": True, "embedding_model_dims": 10}
        config = {
            "vector_store": {"provider": "qdrant", "config": vectors},
            "history_db_path": f"{self.folder}/history.db",
        }
        self.store = Store.from_config(config)
        super().remember(rows)

    def put(self, entity: str, fact: Fact) -> str:
        """Add the text with its stamps as metadata."""
        stamps = {"public": fact["public"], "loaded": fact["loaded"]}
        added = self.store.add(fact["text"], user_id=entity, infer=False, metadata=stamps)
        return str(added["results"][0]["id"])

    def facts(self, entity: str, *until: float | None) -> Iterable[Fact]:
        """Get all of the user's memories that the filter passes."""
        bound = {"public": {"lte": until[0]}} if until else {}
        results = self.store.get_all(filters={"user_id": entity, **bound}, top_k=1000)["results"]
        return [{"text": result["memory"], **result["metadata"]} for result in results]

    def forget(self, memories: list[Any]) -> None:
        """Delete the memories."""
        for memory in memories:
            self.store.delete(memory)

    def erase(self, entity: str) -> None:
        """Delete all of the user's memories."""
        self.store.delete_all(user_id=entity)

    def close(self) -> None:
        """The store."""
        self.store.close()
