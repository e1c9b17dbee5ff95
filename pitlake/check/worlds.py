"""Other worlds of one lake version: cut at an instant, with a different future, or with rows that were published later.

A world is a `Snapshot`. It uses the lake's own files where nothing changed, and otherwise rewritten files in a folder.
The lake itself is only read.
"""

import random
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pitlake.clock import AVAILABLE_AT, OBSERVED_AT
from pitlake.lake.storage.files import ceil_millis, floor_millis
from pitlake.lake.storage.manifest import DataFile, Snapshot, TableState
from pitlake.tombstones import superseded_table_name

BEFORE, AFTER, MONTH = timedelta(days=120), timedelta(days=400), timedelta(days=31)
"""How long before the instant rows are delayed, and how long after it altered; later rows are left out."""
DELAYED = 0.2  # the share of the rows shortly before the instant that are published after it
_SYSTEM = frozenset({AVAILABLE_AT, OBSERVED_AT, "available_at_source", "evidence", "content_hash", "basis"})


@dataclass(frozen=True)
class Worlds:
    """The worlds of a lake version. datasets: the datasets to change. folder: the folder of rewritten files."""

    snapshot: Snapshot
    datasets: Collection[str]
    folder: Path

    @property
    def full(self) -> Snapshot:
        """Return the version unchanged, as plain data that can be sent to other processes."""
        tables = {name: TableState(self.snapshot.files(name)) for name in self.snapshot.tables}
        return Snapshot(self.snapshot.version, tables)

    def cut(self, at: datetime, datasets: Collection[str] | None = None, *, of: Snapshot | None = None) -> Snapshot:
        """Return a world in which nothing of these datasets (default: all) became public after an instant."""
        names = set(self.datasets if datasets is None else datasets)
        bound = _scalar(at)

        def cut(file: DataFile) -> list[DataFile]:
            if file.hi <= at:
                return [file]
            return [] if file.lo > at else self._rewritten(file, lambda rows: _until(rows, bound))

        return self._changed(of or self.full, names, cut)

    def altered(self, at: datetime, seed: int, until: datetime) -> Snapshot:
        """Return a world that is the same up to an instant, and different afterwards, with those rows in another order.

        Files without later rows are the lake's own, so that sessions can reuse their cuts. Numbers are changed; strings
        are permuted, so that each remains a valid value. The world ends at `until`, or with the month after `at` if
        that is later.
        """
        end = min(at + AFTER, max(until, at + MONTH))
        rng = np.random.default_rng(seed)
        bound = _scalar(at)

        def alter(file: DataFile) -> list[DataFile]:
            if file.hi <= at:
                return [file]
            if file.lo > end:
                return []

            def alter_rows(rows: pa.Table) -> pa.Table:
                later = _until(rows.filter(pc.greater(rows[AVAILABLE_AT], bound)), _scalar(end))
                whole = pa.concat_tables([_until(rows, bound), _altered(later)])
                return whole.take(pa.array(rng.permutation(len(whole))))

            return self._rewritten(file, alter_rows)

        return self._changed(self._without_tombstones(), set(self.datasets), alter)

    def delayed(self, at: datetime, seed: int) -> Snapshot:
        """Return a world in which some of the rows shortly before an instant became public only after it."""
        rng = random.Random(seed)  # noqa: S311 - a repeatable choice of rows, not a secret

        def delay(file: DataFile) -> list[DataFile]:
            if file.hi < at - BEFORE or file.lo > at:
                return [file]
            chosen = pa.array([rng.random() < DELAYED for _ in range(file.rows)])

            def is_late(rows: pa.Table) -> pa.ChunkedArray:
                times = rows[AVAILABLE_AT]
                recent = pc.and_(pc.greater_equal(times, _scalar(at - BEFORE)), pc.less_equal(times, _scalar(at)))
                return pc.and_(recent, chosen)

            def delay_rows(rows: pa.Table) -> pa.Table:
                late = rows.filter(is_late(rows))
                field, days = rows.schema.field(AVAILABLE_AT), range(len(late))
                moments = pa.array([at + timedelta(days=1 + number % 9) for number in days], field.type)
                return late.set_column(late.column_names.index(AVAILABLE_AT), field, moments)

            punctual = self._rewritten(file, lambda rows: rows.filter(pc.invert(is_late(rows))))
            return [*punctual, *self._rewritten(file, delay_rows)]

        return self._changed(self._without_tombstones(), set(self.datasets), delay)

    def after(self, at: datetime) -> list[str]:
        """Return the datasets that have rows after an instant."""
        return [name for name in self.datasets if any(file.hi > at for file in self.snapshot.files(name))]

    def has_rows(self, after: datetime, until: datetime | None = None) -> bool:
        """Return whether the changed datasets have rows after an instant, up to another one."""
        files = [file for name in self.datasets for file in self.snapshot.files(name)]
        return any(file.hi > after and (until is None or file.lo <= until) for file in files)

    def _without_tombstones(self) -> Snapshot:
        # Tombstones refer to rows by hashes and instants that other worlds do not have; sessions work without them.
        dead = {superseded_table_name(name) for name in self.datasets}
        full = self.full
        return Snapshot(full.version, {name: state for name, state in full.tables.items() if name not in dead})

    def _changed(
        self, snapshot: Snapshot, datasets: Collection[str], change: Callable[[DataFile], list[DataFile]]
    ) -> Snapshot:
        names = {*datasets, *map(superseded_table_name, datasets)}
        tables = dict(snapshot.tables)
        for name in names & tables.keys():
            tables[name] = TableState(tuple(new for file in tables[name].files for new in change(file)))
        return Snapshot(snapshot.version, tables)

    def _rewritten(self, file: DataFile, change: Callable[[pa.Table], pa.Table]) -> list[DataFile]:
        """Return the files that replace a file after a change to its rows: one per month; none if no rows are left."""
        rows = pq.read_table(file.path, partitioning=None)
        if file.beside is not None:
            rows = rows.append_column(
                pa.field(OBSERVED_AT, rows.schema.field(AVAILABLE_AT).type, nullable=False),
                pq.read_table(file.beside.path, columns=[OBSERVED_AT], partitioning=None)[OBSERVED_AT],
            )
        rows = change(rows)
        if not len(rows):
            return []
        months = pc.strftime(
            pc.local_timestamp(rows[AVAILABLE_AT].cast(pa.timestamp("us", "America/New_York"))), "%Y-%m"
        )
        files = []
        for month in sorted(set(months.to_pylist())):
            of_month = rows.filter(pc.equal(months, month))
            path = self.folder / f"available_month={month}" / f"{uuid4().hex}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            # The lake's format takes three times as long to write.
            pq.write_table(of_month, path, use_dictionary=False)
            bounds = pc.min_max(of_month[AVAILABLE_AT]).as_py()
            first, last = floor_millis(bounds["min"]), ceil_millis(bounds["max"])
            files.append(DataFile(str(path), len(of_month), path.stat().st_size, first, last))
        return files


def _scalar(at: datetime) -> pa.Scalar:
    return pa.scalar(at, pa.timestamp("us", "UTC"))


def _until(rows: pa.Table, bound: pa.Scalar) -> pa.Table:
    return rows.filter(pc.less_equal(rows[AVAILABLE_AT], bound))


def _altered(rows: pa.Table) -> pa.Table:
    for number, field in enumerate(rows.schema):
        if field.name in _SYSTEM or len(rows) == 0:
            continue
        column = rows[field.name]
        if pa.types.is_floating(field.type):
            signs = pa.array(np.where(np.arange(len(rows)) % 2, 1.0, -1.0))  # Both the largest and the least change.
            changed = pc.multiply(pc.add(pc.multiply(column, 3.0), 777.0), signs).cast(field.type)
        else:
            places = np.roll(np.arange(len(rows)), 1)
            changed = column.take(pa.array(places))
        rows = rows.set_column(number, field, changed)
    return rows
