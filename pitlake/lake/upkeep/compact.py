"""Compaction: the files of a closed month, or of all months of a closed year, become one compacted file.

Rows are never merged, dropped or changed. Before anything becomes visible, the new file is read back and its rows are
compared with the old ones. Old files stay on disk for older versions until a vacuum. Gaps are merged by month, because
sessions never receive gap files directly.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from pitlake import machine
from pitlake.contract import Dataset, gap_table_name
from pitlake.errors import BadInput, PastChanged
from pitlake.lake.publishing import hash_index
from pitlake.lake.publishing.commit_queue import WriterTurn
from pitlake.lake.storage.files import NewFile, month_of_file
from pitlake.lake.storage.log import Entry, LakeLog
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.storage.parallel import each
from pitlake.lake.storage.store import PLACE, Store
from pitlake.lake.tables import compacted
from pitlake.lake.tables.compacted import observed_table_name
from pitlake.lake.tables.delta import DeltaTables, table_key, table_schema
from pitlake.lake.tables.query import calculator, columns, reading
from pitlake.lake.upkeep import merge
from pitlake.lake.upkeep.merge import Merged
from pitlake.tombstones import superseded_table_name

MANY_ROWS = 2_000_000
"""The rows of a period from which periods are merged one at a time, because a large month takes much memory."""
MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")


@dataclass(frozen=True)
class Compacted:
    """The result of a compaction. `version` shows the merged files: a new one only if `changed`."""

    dataset: str
    version: int
    changed: bool
    files_before: int
    files_after: int
    rows: int


@dataclass(frozen=True)
class Replaced:
    """The files of one table to be replaced."""

    old: list[DataFile]
    new: list[NewFile]


class Compactor:
    """Compacts tables of one lake."""

    def __init__(self, store: Store, log: LakeLog, tables: DeltaTables) -> None:
        self._store, self._log, self._tables = store, log, tables

    def compact(self, dataset: Dataset, before: str | None = None) -> Compacted:
        """Merge each month before the newest one, and all months of each earlier year.

        Raises PastChanged if the merged rows differ, ClockWentBack.
        """
        if before is not None and not MONTH.fullmatch(before):
            raise BadInput("before", f"{before!r} is not a month", 'give it as "YYYY-MM"')
        self._log.now()
        turn = WriterTurn(self._store, self._log, dataset.name)
        return turn.attempts(partial(self._compact_once, dataset, before))

    def _compact_once(self, dataset: Dataset, before: str | None, turn: WriterTurn) -> Compacted:
        base = self._log.head()
        due: dict[str, Replaced] = {}
        for table in (dataset.name, gap_table_name(dataset.name), superseded_table_name(dataset.name)):
            if periods := self._mergeable(dataset, table, base, before):
                old = [file for files in periods.values() for file in files]
                self._store.fetch(old)
                largest = max(sum(file.rows for file in files) for files in periods.values())
                at_once = 1 if largest > MANY_ROWS else None
                merged = each(partial(self._merge, dataset, table), periods.items(), at_once)
                due[table] = Replaced(old, [part.rows for part in merged])
                if beside := [part.beside for part in merged if part.beside]:
                    due[observed_table_name(table)] = Replaced([file.beside for file in old if file.beside], beside)
        pins: dict[str, int] = {}
        for table, files in due.items():
            turn.check(base)
            machine.require_room(PLACE, self._store.root)
            schema, pinned = table_schema(dataset, table), base.tables.get(table)
            pins[table] = self._tables.commit(table, schema, pinned, files.new, files.old, note="compact")
        due.pop(observed_table_name(dataset.name), None)
        counts = {
            "files_before": sum(len(files.old) for files in due.values()),
            "files_after": sum(len(files.new) for files in due.values()),
        }
        entry = base
        if pins:
            turn.check(base)
            entry = self._log.append(base, pins, operation="compact", run_id="", dataset=dataset.name, counts=counts)
            for table, files in due.items():
                for file in files.new:
                    self._store.forget_time(self._store.path(f"{table_key(table)}/{file.name}"))
                hash_index.remove_outdated(self._store, table, self._tables.pinned(table, entry.tables).files)
        rows = sum(file.rows for files in due.values() for file in files.new)
        return Compacted(dataset.name, entry.version, bool(pins), **counts, rows=rows)

    def _mergeable(self, dataset: Dataset, table: str, base: Entry, before: str | None) -> dict[str, list[DataFile]]:
        """Return the files of each closed period that has several files or a file of an outdated form."""
        prefix = f"{self._store.path(table_key(table))}/"
        files = self._tables.pinned(table, base.tables).files
        months = {file: month_of_file(file.path.removeprefix(prefix)) for file in files}
        cut, closes = before or max(months.values(), default=""), compacted.form_of(dataset, table) is not None
        periods: dict[str, list[DataFile]] = defaultdict(list)
        for file, month in months.items():
            periods[month[:4] if closes and month[:4] < cut[:4] else month].append(file)
        return {
            period: period_files
            for period, period_files in sorted(periods.items())
            if period < cut[: len(period)]
            and (len(period_files) > 1 or (closes and period_files[0].form != compacted.FORM))
        }

    def _merge(self, dataset: Dataset, table: str, period: tuple[str, list[DataFile]]) -> Merged:
        name, files = period
        schema = table_schema(dataset, table)
        merged = merge.merge_period(self._store, dataset, table, name, files)
        again = merge.as_data_file(self._store, table, merged)
        if self._digest(schema, [again]) != self._digest(schema, files):
            raise PastChanged(
                f"{table}: the merged file of {name} does not contain the rows of its parts; nothing was published"
            )
        return merged

    @staticmethod
    def _digest(schema: pa.Schema, files: list[DataFile]) -> tuple[int, ...]:
        """Return a digest of the multiset of rows over all columns: count, sum and xor of row hashes."""
        with calculator() as sql:
            hashes = f"SELECT hash({columns(schema.names)}) AS row FROM {reading(files, schema)}"
            totals = sql.sql(f"SELECT count(*), sum(row::HUGEINT), bit_xor(row) FROM ({hashes})").fetchall()
        return tuple(totals[0])
