"""A spill file: Arrow tables put away on disk as they come, and read back in the order of their partitions.

One file however many tables there are, mapped rather than read. Which tables are put there is the stage's business.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from pitlake.lake.arrays import Positions


class SpillFile:
    """Tables of one schema below one folder."""

    def __init__(self, folder: Path, name: str, schema: pa.Schema) -> None:
        self._folder, self._name, self._schema = folder, name, schema
        self._writer: pa.ipc.RecordBatchFileWriter | None = None
        self._sink: pa.NativeFile | None = None
        self._files: list[Path] = []
        self._batches: list[tuple[str, int, int]] = []

    def put(self, partition: str, table: pa.Table) -> None:
        """Add a table to a partition."""
        if self._writer is None:
            self._files.append(self._folder / f"{self._name}.{len(self._files)}.arrow")
            self._sink = pa.OSFile(str(self._files[-1]), "wb")
            self._writer = pa.ipc.new_file(self._sink, self._schema)
        first = self._writer.stats.num_record_batches
        self._writer.write_table(table)
        added = range(first, self._writer.stats.num_record_batches)
        self._batches += [(partition, len(self._files) - 1, number) for number in added]

    def read(self, partitions: Sequence[str]) -> tuple[pa.Table, Positions]:
        """All rows, partitions in the given order and rows as they came, and each row's place among the partitions."""
        self.close()
        place = {partition: number for number, partition in enumerate(partitions)}
        readers = [pa.ipc.open_file(pa.memory_map(str(path))) for path in self._files]
        batches = sorted(self._batches, key=lambda batch: place[batch[0]])
        found = [readers[file].get_batch(number) for _, file, number in batches]
        rows = [batch.num_rows for batch in found]
        index = np.repeat(np.array([place[partition] for partition, _, _ in batches], np.int64), rows)
        return pa.Table.from_batches(found, self._schema), index

    def close(self) -> None:
        """Finish the file being written; the next table begins another. What can't be finished is closed all the same,
        and raises OSError once.
        """
        writer, sink = self._writer, self._sink
        self._writer = self._sink = None
        if writer is not None and sink is not None:
            with sink:
                writer.close()
