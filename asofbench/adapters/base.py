"""Adapters: `load(rows)` is called once, then `ask(question)` any number of times. Most systems can return everything
that is visible as of an instant. Their adapters extend `Visible`, which answers questions from it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from asofbench.model import Question, read
from asofbench.reading import careful, plain

Rows = list[dict[str, Any]]
EARLIEST, LATEST = (read(f"{year}-01-01T00:00:00Z") for year in ("0002", "9998"))


class Unable(Exception):
    """The system has no such interface, so the question can't be asked."""


class Adapter(ABC):
    """One system in one configuration. folder: an empty folder for it. options: those of the configuration, from its
    card. options["careful"]: whether to read timestamps by the sources' documentation, and to leave out columns that
    are filled in later. options["first_sight"]: whether a further delivery of a record counts from its arrival.
    """

    def __init__(self, folder: Path, options: Mapping[str, Any]) -> None:
        self.folder, self.options = folder, options
        self.careful = bool(options.get("careful"))

    @abstractmethod
    def load(self, rows: Rows) -> None:
        """Load rows as their sources delivered them, in order of arrival."""

    @abstractmethod
    def ask(self, question: Question) -> Any:
        """Return the answer as JSON-compatible values. Raises Unable; any other exception is a refusal."""

    def retract(self, loaded_at: datetime) -> None:
        """Withdraw the delivery of an instant, which was wrong: as if it had never come, whatever T is."""
        raise Unable("retract")

    def erase(self, entity: str) -> None:
        """Remove all that is stored about an entity, whatever T is, and from the files."""
        raise Unable("erase")

    def close(self) -> None:  # noqa: B027 - most have no resources
        """Release resources."""

    def typed(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row with instants instead of texts: event, available_at (or None), loaded_at."""
        source_row = dict(row)
        typed_row = {name: source_row[name] for name in ("entity", "item", "value", "text")}
        typed_row["event"], typed_row["loaded_at"] = read(source_row["event"]), read(source_row["loaded_at"])
        typed_row["available_at"] = careful(source_row) if self.careful else plain(source_row)
        if not self.careful:
            typed_row["extra"] = source_row.get("extra")
        return typed_row

    def dated(self, rows: Rows) -> Rows:
        """All rows with instants. With first_sight an older vintage that arrives after a newer one is left out."""
        typed = [self.typed(row) for row in rows]
        if not self.options.get("first_sight"):
            return typed
        kept_rows, seen = [], dict[tuple[str, str], datetime | None]()
        for row in typed:
            key, stamp = (row["entity"], row["item"]), row["available_at"]
            newest_stamp = seen.get(key)
            if key in seen and stamp is not None:
                row["available_at"] = max(stamp, row["loaded_at"])
            if stamp is None or newest_stamp is None or stamp >= newest_stamp:
                seen[key] = stamp or newest_stamp
                kept_rows.append(row)
        return kept_rows


class Rewritten(Adapter):
    """A table whose user has the raw rows and writes it anew from them, as often as needed."""

    def load(self, rows: Rows) -> None:
        """Write the table."""
        self.raw = rows
        self.write(rows)

    @abstractmethod
    def write(self, rows: Rows) -> None:
        """Write the table from rows as their sources delivered them, in place of the one before."""

    def retract(self, loaded_at: datetime) -> None:
        """Write the table without the delivery."""
        self.load([row for row in self.raw if read(row["loaded_at"]) != loaded_at])

    def erase(self, entity: str) -> None:
        """Write the table without the entity."""
        self.load([row for row in self.raw if row["entity"] != entity])


class Visible(Adapter):
    """A system that returns rows: the newest per entity and item as of an instant."""

    @abstractmethod
    def visible(self, at: datetime) -> Rows:
        """Return the visible rows as of an instant, one per entity and item, as JSON-compatible values."""

    def ask(self, question: Question) -> Any:
        """Answer questions about data. There is no interface here for attacks."""
        at = read(question.as_of)
        if question.kind == "join":
            return [self.known(entity, item, read(when)) for entity, item, when in question.spine]
        if question.kind == "missing":
            return [value_of(self.visible_at_null(), entity, item) for entity, item, _ in question.spine]
        if question.kind == "forgotten":
            rows = self.visible_without_instant(at)
        else:
            rows = self.visible_by(at, read(question.loaded_by)) if question.loaded_by else self.visible(at)
        mine = [row for row in rows if row["entity"] == question.entity]
        if question.kind in ("rows", "forgotten"):
            return {row["item"]: [row["value"], row["text"], *filter(None, [row.get("extra")])] for row in mine}
        if question.kind == "figures":
            names = {row["item"] for row in mine if row["value"] == 1.0}
            return {
                row["entity"]: row["value"] for row in rows if row["item"] == question.term and row["entity"] in names
            }
        if question.kind == "adjusted":
            ratio = math.prod(row["value"] for row in mine if row["item"].startswith(question.term))
            return {row["item"]: row["value"] / ratio for row in mine if not row["item"].startswith(question.term)}
        if question.kind == "members":
            return sorted(row["item"] for row in mine if row["value"] == 1.0)
        if question.kind == "aggregate":
            return sum(row["value"] for row in mine) / len(mine) if mine else None
        if question.kind == "frequency":
            return sum(question.term in row["text"] for row in rows)
        raise Unable(question.kind)

    def visible_by(self, at: datetime, loaded_by: datetime) -> Rows:
        """Return the rows that were visible as of an instant to a store that had only what it received by another."""
        raise Unable("loaded_by")

    def known(self, entity: str, item: str, at: datetime) -> Any:
        """Return one value as of an instant, or None."""
        return value_of(self.visible(at), entity, item)

    def visible_without_instant(self, at: datetime) -> Rows:
        """Return the answer to a call without the instant.

        at: T, for systems that store it themselves, so that callers do not state it.
        """
        raise Unable("forgotten")

    def visible_at_null(self) -> Rows:
        """Return the answer to a call with a null for the instant."""
        raise Unable("missing")


class Versioned(Visible):
    """A table with versions. options: live (each batch is a version, and T is the machine's time when it was written),
    first_sight (the newest version is read, with a WHERE clause), otherwise one load, read as of T.
    """

    @abstractmethod
    def rows_at(self, at: datetime | None) -> Rows:
        """Return all rows of the version at T, or of the newest."""

    def parts(self, rows: Rows) -> list[tuple[datetime, Rows]]:
        """Return what is written as one version each, and when it arrived."""
        self.cached: tuple[datetime, Rows] | None = None
        return batches(rows) if self.options.get("live") else [(datetime.now(timezone.utc), rows)]

    def visible(self, at: datetime) -> Rows:
        """Return the newest row per entity and item as of T."""
        if self.cached is None or self.cached[0] != at:
            is_filtered = self.options.get("first_sight")
            self.cached = at, public_by(self.rows_at(None), at) if is_filtered else newest(self.rows_at(at))
        return self.cached[1]

    def visible_by(self, at: datetime, loaded_by: datetime) -> Rows:
        """Return the rows of the version at `loaded_by` that are dated up to T."""
        if self.options.get("live"):
            return public_by(self.rows_at(loaded_by), at)
        if self.options.get("first_sight"):
            return public_by(self.rows_at(None), at, loaded_by)
        raise Unable("loaded_by")


def value_of(rows: Rows, entity: str, item: str) -> Any:
    """Return the value of an item of an entity, or None."""
    item_values = [row["value"] for row in rows if (row["entity"], row["item"]) == (entity, item)]
    return item_values[0] if item_values else None


def batches(rows: Rows) -> list[tuple[datetime, Rows]]:
    """Return rows by the instant they were loaded, in that order."""
    moments = sorted({row["loaded_at"] for row in rows})
    return [(read(moment), [row for row in rows if row["loaded_at"] == moment]) for moment in moments]


def naive(value: Any) -> Any:
    """Return instants as UTC without an offset, and other values unchanged."""
    return value.astimezone(timezone.utc).replace(tzinfo=None) if isinstance(value, datetime) else value


def newest(rows: Rows) -> Rows:
    """Return the row with the latest date per entity and item; of two with one date, the row loaded last."""
    newest_rows: dict[tuple[str, str], dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (row["available_at"] or EARLIEST, row["loaded_at"])):
        newest_rows[row["entity"], row["item"]] = row
    return list(newest_rows.values())


def public_by(rows: Rows, at: datetime, loaded_by: datetime | None = None) -> Rows:
    """Return the newest of the rows that are dated up to an instant, and were loaded by another: a WHERE clause."""
    by = loaded_by or LATEST
    return newest([row for row in rows if (row["available_at"] or LATEST) <= at and row["loaded_at"] <= by])
