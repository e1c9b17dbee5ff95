"""A spill file: Arrow tables that are written to disk as they arrive, and read back in the order of their partitions.

One file contains any number of tables and is mapped into memory instead of being read. The stage decides which tables
are written.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from pitlake.lake.storage.arrays import Positions, is_one_value

Runs = list[tuple[int, int]]


class SpillFile:
    """Tables of one schema in one folder. at_once: the number of rows written as one batch, so that many small tables
    are read back in few pieces. alike: columns that often have the same value in all rows, which is then written once.
    """

    def __init__(
        self, folder: Path, name: str, schema: pa.Schema, at_once: int = 1, alike: Collection[str] = ()
    ) -> None:
        self._alike, self._same = alike, list[dict[str, pa.Scalar]]()
        self._folder, self._name, self._schema, self._at_once = folder, name, schema, at_once
        self._writer: pa.ipc.RecordBatchFileWriter | None = None
        self._sink: pa.NativeFile | None = None
        self._files: list[Path] = []
        self._parts: list[tuple[str, int, int]] = []
        self._gathered: list[pa.Table] = []
        self._put = self._written = 0

    def put(self, partition: str, table: pa.Table) -> None:
        self._gathered.append(table)
        self._parts.append((partition, self._put, self._put + table.num_rows))
        self._put += table.num_rows
        if self._put - self._written >= self._at_once:
            self._write()

    def runs(self, partitions: Sequence[str]) -> Runs:
        """Return the runs of rows that are adjacent if the partitions are in the given order. Rows are numbered in the
        order in which they were added.
        """
        runs: Runs = []
        for _, start, stop in self._in_order(partitions):
            follows = bool(runs) and runs[-1][1] == start
            runs.append((runs.pop()[0] if follows else start, stop))
        return runs

    def read(self, partitions: Sequence[str]) -> tuple[pa.Table, Positions]:
        """Return all rows with partitions in the given order and rows in the order they were added, and each row's
        index in `partitions`.
        """
        self._write()
        self.close()
        readers = [pa.ipc.open_file(pa.memory_map(str(path))) for path in self._files]
        batches = [reader.get_batch(number) for reader in readers for number in range(reader.num_record_batches)]
        # Values that were written only once are added to their batches, which all share the memory of such a value.
        longest = max((batch.num_rows for batch in batches), default=0)
        values = {value for same in self._same for value in same.values()}
        repeated = {value: pa.repeat(value, longest) for value in values}
        batches = [
            pa.RecordBatch.from_arrays(
                [
                    repeated[same[name]].slice(0, batch.num_rows) if name in same else column
                    for name, column in zip(batch.schema.names, batch.columns, strict=True)
                ],
                schema=batch.schema,
            )
            for batch, same in zip(batches, self._same, strict=True)
        ]
        first = np.cumsum([0, *(batch.num_rows for batch in batches)]).tolist()
        tables = [
            batches[number].slice(max(start - first[number], 0), stop - max(start, first[number]))
            for start, stop in self.runs(partitions)
            for number in range(bisect_right(first, start) - 1, bisect_left(first, stop))
        ]
        rows = pa.Table.from_batches(tables, self._schema)
        if len(partitions) == 1:
            return rows, np.broadcast_to(np.int64(0), rows.num_rows)
        place, start, stop = np.array(self._in_order(partitions), np.int64).reshape(-1, 3).T
        return rows, np.repeat(place, stop - start)

    def close(self) -> None:
        """Finish the current file; the next table starts another. After a failure it is closed. Raises OSError."""
        writer, sink = self._writer, self._sink
        self._writer = self._sink = None
        if writer is not None and sink is not None:
            with sink:
                writer.close()

    def _in_order(self, partitions: Sequence[str]) -> list[tuple[int, int, int]]:
        place = {partition: number for number, partition in enumerate(partitions)}
        return sorted((place[partition], start, stop) for partition, start, stop in self._parts)

    def _write(self) -> None:
        if self._put == self._written:
            return
        if self._writer is None:
            self._files.append(self._folder / f"{self._name}.{len(self._files)}.arrow")
            self._sink = pa.OSFile(str(self._files[-1]), "wb")
            self._writer = pa.ipc.new_file(self._sink, self._schema)
        for batch in pa.concat_tables(self._gathered).combine_chunks().to_batches():
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            same = {name: columns[name][0] for name in self._alike if name in columns and is_one_value(columns[name])}
            columns |= {name: pa.nulls(batch.num_rows, value.type) for name, value in same.items()}
            self._writer.write_batch(pa.RecordBatch.from_arrays([*columns.values()], schema=batch.schema))
            self._same.append(same)
        self._gathered, self._written = [], self._put
