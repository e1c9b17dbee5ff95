"""ArcticDB: one symbol per entity, read as of an instant, as of a snapshot, or as it is now."""

from datetime import datetime, timezone
from typing import Any

import pandas as pd
from arcticdb import Arctic as Store
from arcticdb import ReadRequest, WritePayload

from asofbench.adapters.base import Rows, Unable, Visible, batches, naive, newest, public_by
from asofbench.model import Question, read


class Arctic(Visible):
    """options: live (each batch is written and snapshotted on arrival), newest (rows up to T by their event's time)."""

    def load(self, rows: Rows) -> None:
        """Write one version of each symbol and one snapshot per batch if live, otherwise one of everything."""
        self.library = Store("mem://").create_library("facts")
        self.snapshots: list[tuple[datetime, str]] = []
        parts = batches(rows) if self.options.get("live") else [(datetime.now(timezone.utc), rows)]
        so_far: dict[str, Rows] = {}
        for number, (arrival, part) in enumerate(parts):
            for row in part:
                so_far.setdefault(row["entity"], []).append(row)
            changed = sorted({row["entity"] for row in part})
            self.library.write_batch([WritePayload(entity, self._frame(so_far[entity])) for entity in changed])
            if self.options.get("live"):
                self.library.snapshot(f"delivery {number}")
                self.snapshots.append((arrival, f"delivery {number}"))

    def _frame(self, rows: Rows) -> pd.DataFrame:
        frame = pd.DataFrame([{name: naive(value) for name, value in self.typed(row).items()} for row in rows])
        frame["available_at"] = pd.to_datetime(frame["available_at"])
        if "extra" in frame:
            frame["extra"] = frame["extra"].fillna("")
        return frame.set_index("event").sort_index(kind="stable")

    def ask(self, question: Question) -> Any:
        """Return symbols and their descriptions, and the answers to questions about data."""
        if question.kind in ("clock", "error", "escape"):
            raise Unable(question.kind)
        at = read(question.as_of)
        if question.kind == "listing":
            return self._symbols(at)
        if question.kind in ("statistics", "counts"):
            description = self.library.get_description(question.entity, as_of=self._as_of(at))
            return description.row_count if question.kind == "counts" else str(description)
        self.subjects = [question.entity] if question.entity else [entity for entity, _, _ in question.spine]
        if question.kind == "frequency" and (self.options.get("live") or self.options.get("newest")):
            self.subjects = self._symbols(at)
        elif question.kind == "frequency":
            names = [name for name, version in self.library.list_versions().items() if version.date <= at]
            self.subjects = sorted({name.symbol for name in names})
        if question.kind == "figures":
            self.subjects += [row["item"] for row in self.visible(at) if row["value"] == 1.0]
        return super().ask(question)

    def visible(self, at: datetime) -> Rows:
        """Return the newest row per item of the requested symbols."""
        as_of = self._as_of(at)
        if as_of == "":
            return []
        until = {"date_range": (None, pd.Timestamp(naive(at)))} if self.options.get("newest") else {}
        return self._read([ReadRequest(entity, as_of=as_of, **until) for entity in self.subjects])

    def visible_by(self, at: datetime, loaded_by: datetime) -> Rows:
        """Return the rows of the snapshot at `loaded_by` that are dated up to T."""
        as_of = self._as_of(loaded_by)
        if not self.options.get("live"):
            raise Unable("loaded_by")
        return public_by(self._all([ReadRequest(entity, as_of=as_of) for entity in self.subjects]), at) if as_of else []

    def visible_without_instant(self, at: datetime) -> Rows:
        """Return the newest row per item of the requested symbols, read without a version."""
        return self._read([ReadRequest(entity) for entity in self.subjects])

    def visible_at_null(self) -> Rows:
        """Return the newest row per item of the requested symbols, as of None."""
        return self._read([ReadRequest(entity, as_of=None) for entity in self.subjects])

    def retract(self, loaded_at: datetime) -> None:
        """Write the symbols of the delivery without it; versions and snapshots before have it."""
        for entity in self.library.list_symbols():
            frame = self.library.read(entity).data
            kept = frame[frame["loaded_at"] != naive(loaded_at)]
            if len(kept) < len(frame):
                self.library.write(entity, kept)

    def erase(self, entity: str) -> None:
        """Delete all versions of the symbol; a snapshot keeps it."""
        self.library.delete(entity)

    def _read(self, requests: list[ReadRequest]) -> Rows:
        return newest(self._all(requests))

    def _all(self, requests: list[ReadRequest]) -> Rows:
        got_by_entity = zip(self.subjects, self.library.read_batch(requests), strict=True)
        return [
            {
                **row,
                "entity": entity,
                **{
                    name: None if pd.isna(row[name]) else row[name].to_pydatetime().replace(tzinfo=timezone.utc)
                    for name in ("available_at", "loaded_at")
                },
            }
            for entity, got in got_by_entity
            if hasattr(got, "data")
            for row in got.data.to_dict("records")
        ]

    def _symbols(self, at: datetime) -> list[str]:
        as_of = self._as_of(at)
        if as_of == "":
            return []
        return sorted(self.library.list_symbols(snapshot_name=as_of if isinstance(as_of, str) else None))

    def _as_of(self, at: datetime) -> datetime | str | None:
        """Return the version to read: a snapshot's name ("" if there is none yet), an instant, or None for the
        newest.
        """
        if self.options.get("newest"):
            return None
        if not self.options.get("live"):
            return at
        return max(((arrival, name) for arrival, name in self.snapshots if arrival <= at), default=(at, ""))[1]
