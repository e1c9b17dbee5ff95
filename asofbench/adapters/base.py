"""What an adapter is: `load(rows)` once, then `ask(question)` as often as wanted.

Most systems can tell all that is visible as of an instant; `Visible` answers questions about data from that.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from asofbench.model import Question, read
from asofbench.reading import careful, plain

Rows = list[dict[str, Any]]


class Unable(Exception):
    """The system has no such door: the question can't be put to it."""


class Adapter(ABC):
    """One system in one configuration. folder: an empty place of its own. options: the configuration's, from its card.

    options["careful"]: whether stamps are read by the sources' documentation, and columns filled in later left out.
    """

    def __init__(self, folder: Path, options: Mapping[str, Any]) -> None:
        self.folder, self.options = folder, options
        self.careful = bool(options.get("careful"))

    @abstractmethod
    def load(self, rows: Rows) -> None:
        """Take in rows as their sources deliver them, in the order they came."""

    @abstractmethod
    def ask(self, question: Question) -> Any:
        """The answer as JSON can hold it. Raises Unable; whatever else it raises is a refusal."""

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Let go of what is held."""

    def typed(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row with instants instead of texts: event, available_at (or None), loaded_at."""
        source_row = dict(row)
        typed_row = {name: source_row[name] for name in ("entity", "item", "value", "text")}
        typed_row["event"], typed_row["loaded_at"] = read(source_row["event"]), read(source_row["loaded_at"])
        typed_row["available_at"] = careful(source_row) if self.careful else plain(source_row)
        if not self.careful:
            typed_row["extra"] = source_row.get("extra")
        return typed_row


class Visible(Adapter):
    """A system that hands out rows: the newest per entity and item as of an instant."""

    @abstractmethod
    def visible(self, at: datetime) -> Rows:
        """What is visible as of an instant, one row per entity and item, as JSON can hold it."""

    def ask(self, question: Question) -> Any:
        """Questions about data; what attacks a door has none to attack here."""
        at = read(question.as_of)
        if question.kind == "join":
            return [self.known(entity, item, read(when)) for entity, item, when in question.spine]
        rows = self.visible(at)
        mine = [row for row in rows if row["entity"] == question.entity]
        if question.kind == "rows":
            return {row["item"]: [row["value"], row["text"], *filter(None, [row.get("extra")])] for row in mine}
        if question.kind == "members":
            return sorted(row["item"] for row in mine if row["value"] == 1.0)
        if question.kind == "aggregate":
            return sum(row["value"] for row in mine) / len(mine) if mine else None
        if question.kind == "frequency":
            return sum(question.term in row["text"] for row in rows)
        raise Unable(question.kind)

    def known(self, entity: str, item: str, at: datetime) -> Any:
        """One value as of an instant, or None."""
        item_values = [row["value"] for row in self.visible(at) if (row["entity"], row["item"]) == (entity, item)]
        return item_values[0] if item_values else None


def batches(rows: Rows) -> list[tuple[datetime, Rows]]:
    """Rows by the instant they were loaded, in that order."""
    moments = sorted({row["loaded_at"] for row in rows})
    return [(read(moment), [row for row in rows if row["loaded_at"] == moment]) for moment in moments]


def naive(value: Any) -> Any:
    """Instants as UTC without an offset, the rest as it is."""
    return value.astimezone(timezone.utc).replace(tzinfo=None) if isinstance(value, datetime) else value


def newest(rows: Rows) -> Rows:
    """The row loaded last per entity and item."""
    newest_rows: dict[tuple[str, str], dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (row["loaded_at"], row["available_at"] is not None)):
        newest_rows[row["entity"], row["item"]] = row
    return list(newest_rows.values())
