"""Delta Lake by deltalake: time travel by the time of commits."""

import time
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from asofbench.adapters.base import Rows, Unable, Versioned, newest
from asofbench.model import Question, read

_INSTANT = pa.timestamp("us", "UTC")
_TYPES = {"event": _INSTANT, "loaded_at": _INSTANT, "available_at": _INSTANT, "value": pa.float64()}
_NAMES = ("entity", "item", *_TYPES, "text", "extra")
SCHEMA = pa.schema([(name, _TYPES.get(name, pa.string())) for name in _NAMES])


class Delta(Versioned):
    """Versions are commits."""

    def load(self, rows: Rows) -> None:
        """Write one table, partitioned by entity, with one commit per batch if live."""
        self.commits: list[tuple[datetime, datetime]] = []
        for arrival, part in self.parts(rows):
            table = pa.Table.from_pylist(self.dated(part), SCHEMA)
            write_deltalake(str(self.folder / "facts"), table, mode="append", partition_by=["entity"])
            self.commits.append((arrival, datetime.now(timezone.utc)))
            time.sleep(0.002)  # commits are dated by the millisecond

    def ask(self, question: Question) -> Any:
        """Return partitions and counts of the version, and the answers to questions about data."""
        if question.kind in ("listing", "statistics", "counts"):
            table = self._table(read(question.as_of))
            if table is None:
                return []
            if question.kind == "listing":
                return [str(part) for part in table.partitions()]
            actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
            prefixes = (
                ("num_records",) if question.kind == "counts" else ("min.value", "max.value", "min.text", "max.text")
            )
            return [[action.get(name) for name in prefixes] for action in actions]
        if question.kind in ("clock", "error", "escape"):
            raise Unable(question.kind)
        return super().ask(question)

    def rows_at(self, at: datetime | None) -> Rows:
        """Return all rows of the version at T, or of the newest."""
        table = DeltaTable(str(self.folder / "facts")) if at is None else self._table(at)
        return [] if table is None else table.to_pyarrow_table().to_pylist()

    def visible_without_instant(self, at: datetime) -> Rows:
        """Return the newest row per entity and item of the table as it opens without a version."""
        return newest(self.rows_at(None))

    def visible_at_null(self) -> Rows:
        """Return the newest row per entity and item of the version at a null."""
        table = DeltaTable(str(self.folder / "facts"))
        table.load_as_version(None)  # type: ignore[arg-type]
        return newest(table.to_pyarrow_table().to_pylist())

    def retract(self, loaded_at: datetime) -> None:
        """Delete the rows of the delivery; versions before the deletion have them."""
        DeltaTable(str(self.folder / "facts")).delete(f"loaded_at = '{loaded_at.isoformat()}'")
        self.cached = None

    def erase(self, entity: str) -> None:
        """Delete the entity's rows, and remove the files and the log of the versions before: the log has statistics."""
        table = DeltaTable(str(self.folder / "facts"))
        table.delete(f"entity = '{entity}'")
        table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
        table.alter.set_table_properties({"delta.logRetentionDuration": "interval 0 seconds"})
        table = DeltaTable(str(self.folder / "facts"))
        table.create_checkpoint()
        time.sleep(1.1)  # a log entry is removed when its age in seconds is above the retention
        table.cleanup_metadata()
        self.cached = None

    def _table(self, at: datetime) -> DeltaTable | None:
        """Return the table as of T; None if it did not exist yet."""
        moment: datetime | None = at
        if self.options.get("live"):
            moment = max((done for arrival, done in self.commits if arrival <= at), default=None)
        if moment is None:
            return None
        table = DeltaTable(str(self.folder / "facts"))
        table.load_as_version(moment)
        return table
