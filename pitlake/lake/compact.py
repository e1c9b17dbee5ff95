"""Compaction: the many landing files of a closed month become one, sorted by (entity, available_at).

Rows are never merged, dropped or changed: the new file is read back and its rows proven equal to the old ones' before
anything becomes visible. Old files stay on disk for older versions until vacuum.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

from pitlake import machine
from pitlake.contract import Dataset, gap_table_name
from pitlake.errors import BadInput, PastChanged
from pitlake.lake.arrays import as_micros
from pitlake.lake.delta import DeltaTables, table_key, table_schema
from pitlake.lake.fairness import WriterTurn
from pitlake.lake.files import NewFile, month_of_file, sorted_by, take_rows, write_file
from pitlake.lake.log import Entry, LakeLog
from pitlake.lake.manifest import DataFile
from pitlake.lake.parallel import each
from pitlake.lake.query import calculator, columns, reading
from pitlake.lake.store import PLACE, Store
from pitlake.tombstones import superseded_table_name

MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")


@dataclass(frozen=True)
class Compacted:
    """What a compaction did. `version` shows the merged files: a new one only if `changed`."""

    dataset: str
    version: int
    changed: bool
    files_before: int
    files_after: int
    rows: int


class Compactor:
    """Compacts tables of one lake."""

    def __init__(self, store: Store, log: LakeLog, tables: DeltaTables) -> None:
        self._store, self._log, self._tables = store, log, tables

    def compact(self, dataset: Dataset, before: str | None = None) -> Compacted:
        """Merge each closed month (of tombstones: year) with several files.

        Raises PastChanged rather than show other rows, ClockWentBack.
        """
        if before is not None and not MONTH.fullmatch(before):
            raise BadInput("before", "not a month", 'give it as "YYYY-MM"')
        self._log.now()
        turn = WriterTurn(self._store, self._log, dataset.name)
        return turn.attempts(partial(self._compact_once, dataset, before))

    def _compact_once(self, dataset: Dataset, before: str | None, turn: WriterTurn) -> Compacted:
        base = self._log.head()
        pins: dict[str, int] = {}
        merged: list[DataFile] = []
        made: list[NewFile] = []
        for table in (dataset.name, gap_table_name(dataset.name), superseded_table_name(dataset.name)):
            months = self._mergeable(table, base, before)
            if not months:
                continue
            old = [file for files in months.values() for file in files]
            self._store.fetch(old)
            new = each(partial(self._merge, dataset, table), months.items())
            turn.check(base)
            machine.require_room(PLACE, self._store.root)
            pins[table] = self._tables.commit(
                table, table_schema(dataset, table), base.tables.get(table), new, old, note="compact"
            )
            merged, made = merged + old, made + new
        entry = base
        if pins:
            turn.check(base)
            counts = {"files_before": len(merged), "files_after": len(made)}
            entry = self._log.append(base, pins, operation="compact", run_id="", dataset=dataset.name, counts=counts)
        return Compacted(
            dataset.name, entry.version, bool(pins), len(merged), len(made), sum(file.rows for file in made)
        )

    def _mergeable(self, table: str, base: Entry, before: str | None) -> dict[str, list[DataFile]]:
        months: dict[str, list[DataFile]] = defaultdict(list)
        prefix = f"{self._store.path(table_key(table))}/"
        for file in self._tables.state(table, base.tables.get(table)).files:
            months[month_of_file(file.path.removeprefix(prefix))].append(file)
        newest = max(months, default="")
        cut = (before or newest)[: len(newest)]  # tombstones lie by year
        return {month: files for month, files in sorted(months.items()) if month < cut and len(files) > 1}

    def _merge(self, dataset: Dataset, table: str, month: tuple[str, list[DataFile]]) -> NewFile:
        name, files = month
        schema = table_schema(dataset, table)
        rows = pa.concat_tables([pq.read_table(file.path, schema=schema, partitioning=None) for file in files])
        by = {dataset.name: dataset.entity, gap_table_name(dataset.name): "partition"}.get(table, "dead_hash")
        order = sorted_by(rows[by], as_micros(rows["available_at"]))
        new = write_file(self._store, table_key(table), name, take_rows(rows, order))
        path = str(self._store.path(f"{table_key(table)}/{new.name}"))
        if self._digest(schema, [DataFile(path, new.rows, new.size, new.lo, new.hi)]) != self._digest(schema, files):
            raise PastChanged(
                f"{table}: the merged file of {name} does not hold the rows of its parts; nothing was published"
            )
        return new

    @staticmethod
    def _digest(schema: pa.Schema, files: list[DataFile]) -> tuple[int, ...]:
        """A digest of the multiset of rows over every column: count, sum and xor of row hashes."""
        with calculator() as sql:
            hashes = f"SELECT hash({columns(schema.names)}) AS row FROM {reading(files)}"
            found = sql.sql(f"SELECT count(*), sum(row::HUGEINT), bit_xor(row) FROM ({hashes})").fetchall()
        return tuple(found[0])
