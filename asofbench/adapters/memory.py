"""An agent's memory: one memory per entity and item, which a further delivery supersedes."""

import json
from abc import abstractmethod
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from asofbench.adapters.base import Rows, Unable, Visible
from asofbench.model import Question, read


class Memory(Visible):
    """A store that is queried by an entity or by a word."""

    def load(self, rows: Rows) -> None:
        """Write the deliveries in order of arrival."""
        self.entities = {row["entity"] for row in rows}
        self.memories: list[tuple[Any, dict[str, Any]]] = []
        self.remember(self.dated(rows))

    @abstractmethod
    def remember(self, rows: Rows) -> None:
        """Write rows, and note each memory's id in `memories`; `content` makes the text of a row."""

    def retract(self, loaded_at: datetime) -> None:
        """Forget the memories of the delivery."""
        self.forget([memory for memory, row in self.memories if row["loaded_at"] == loaded_at])

    def erase(self, entity: str) -> None:
        """Forget the memories about the entity."""
        self.forget([memory for memory, row in self.memories if row["entity"] == entity])

    def forget(self, memories: list[Any]) -> None:
        """Remove memories by their ids, physically if the store can. Raises Unable by default."""
        raise Unable("forget")

    @abstractmethod
    def about(self, entity: str, *at: datetime | None) -> Iterable[str]:
        """Return the texts about an entity as of an instant, as of None, or without an instant."""

    @abstractmethod
    def found(self, term: str, at: datetime) -> Iterable[str]:
        """Return the texts that a search for a word finds as of T."""

    def content(self, row: dict[str, Any]) -> str:
        """Return the text of a row's memory."""
        return json.dumps([row["item"], row["value"], row["text"]])

    def ask(self, question: Question) -> Any:
        """Recall the subject of the question."""
        if question.kind in ("listing", "statistics", "counts"):
            raise Unable(question.kind)
        at = read(question.as_of)
        if question.kind == "frequency":
            return sum(question.term in text for text in self.found(question.term, at))
        self.subjects = [question.entity] if question.entity else [entity for entity, _, _ in question.spine]
        if question.kind == "figures":
            self.subjects += [row["item"] for row in self.visible(at) if row["value"] == 1.0]
        return super().ask(question)

    def visible(self, at: datetime) -> Rows:
        """Return the memories about the requested entities as of T."""
        return self._remembered(at)

    def visible_without_instant(self, at: datetime) -> Rows:
        """Return the memories about the requested entities, without an instant."""
        return self._remembered()

    def visible_at_null(self) -> Rows:
        """Return the memories about the requested entities as of None."""
        return self._remembered(None)

    def _remembered(self, *at: datetime | None) -> Rows:
        rows = []
        for entity in self.entities.intersection(self.subjects):
            for text in self.about(entity, *at):
                item, value, text_of_row = json.loads(text)
                rows.append({"entity": entity, "item": item, "value": value, "text": text_of_row})
        return rows
