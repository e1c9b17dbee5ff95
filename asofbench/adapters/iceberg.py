"""Apache Iceberg with pyiceberg: snapshots, read by their creation time."""

import time
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo

from asofbench.adapters.base import Rows, Unable, Versioned, newest
from asofbench.model import Question, read

_INSTANT = pa.timestamp("us", "UTC")
_TYPES = {"event": _INSTANT, "loaded_at": _INSTANT, "available_at": _INSTANT, "value": pa.float64()}
SCHEMA = pa.schema([(name, _TYPES.get(name, pa.string())) for name in ("entity", "item", *_TYPES, "text", "extra")])


class Iceberg(Versioned):
    """Versions are snapshots."""

    def load(self, rows: Rows) -> None:
        """Write one table in a separate catalog, with one snapshot per batch if live."""
        catalog = SqlCatalog("own", uri=f"sqlite:///{self.folder}/catalog.db", warehouse=f"file://{self.folder}")
        catalog.create_namespace("asof")
        self.table = catalog.create_table("asof.facts", SCHEMA)
        self.made: list[tuple[datetime, datetime]] = []
        for arrival, part in self.parts(rows):
            self.table.append(pa.Table.from_pylist(self.dated(part), SCHEMA))
            time.sleep(0.002)  # snapshots are dated by the millisecond
            self.made.append((arrival, datetime.now(timezone.utc)))

    def ask(self, question: Question) -> Any:
        """Return files and their metrics as of T, and the answers to questions about data."""
        if question.kind in ("clock", "error", "escape"):
            raise Unable(question.kind)
        if question.kind not in ("listing", "statistics", "counts"):
            return super().ask(question)
        snapshot = self._snapshot(read(question.as_of))
        files = [] if snapshot is None else self.table.inspect.files(snapshot_id=snapshot).to_pylist()
        column = {"listing": "file_path", "statistics": "readable_metrics", "counts": "record_count"}[question.kind]
        return [file[column] if question.kind == "counts" else str(file[column]) for file in files]

    def rows_at(self, at: datetime | None) -> Rows:
        """Return all rows of the snapshot at T, or of the newest."""
        snapshot = None if at is None else self._snapshot(at)
        is_before_the_first = at is not None and snapshot is None
        return [] if is_before_the_first else self.table.scan(snapshot_id=snapshot).to_arrow().to_pylist()

    def visible_without_instant(self, at: datetime) -> Rows:
        """Return the newest row per entity and item of a scan without a snapshot."""
        return newest(self.rows_at(None))

    def visible_at_null(self) -> Rows:
        """Return the newest row per entity and item of the snapshot at a null."""
        snapshot = self.table.snapshot_as_of_timestamp(None)
        return newest(self.table.scan(snapshot_id=snapshot and snapshot.snapshot_id).to_arrow().to_pylist())

    def retract(self, loaded_at: datetime) -> None:
        """Delete the rows of the delivery; snapshots before the deletion have them."""
        self.table.delete(EqualTo("loaded_at", loaded_at.isoformat()))
        self.cached = None

    def erase(self, entity: str) -> None:
        """Delete the entity's rows, and expire the snapshots before."""
        self.table.delete(EqualTo("entity", entity))
        self.table.maintenance.expire_snapshots().older_than(datetime.now(timezone.utc)).commit()
        self.cached = None

    def _snapshot(self, at: datetime) -> int | None:
        """Return the snapshot at T, or None if there was none yet."""
        moment: datetime | None = at
        if self.options.get("live"):
            moment = max((done for arrival, done in self.made if arrival <= at), default=None)
        snapshot = None if moment is None else self.table.snapshot_as_of_timestamp(int(moment.timestamp() * 1000))
        return None if snapshot is None else int(snapshot.snapshot_id)
