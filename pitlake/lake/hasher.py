"""Content hashes computed beside extraction: tables are taken as they come, hashed many at once, given back in order.

Hashing needs no source, so it is done while the extractor waits for more. What a hash is lives in `hashing`.
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow as pa

from pitlake.lake.hashing import content_hashes
from pitlake.lake.parallel import BLOCK_ROWS, workers

Group = list[tuple[str, int]]


class Hasher:
    """The hashes of many tables' rows over the same columns."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = list(columns)
        self._waiting: list[pa.Table] = []
        self._group: Group = []
        self._rows = 0
        self._done: list[tuple[Group, Future[pa.ChunkedArray]]] = []
        self._pool = ThreadPoolExecutor(workers())

    def put(self, partition: str, table: pa.Table) -> None:
        """Take a table's rows. They are hashed at once when enough have come together."""
        self._waiting.append(table.select(self._columns))
        self._group.append((partition, table.num_rows))
        self._rows += table.num_rows
        if self._rows >= BLOCK_ROWS:
            self._flush()

    def read(self) -> pa.ChunkedArray:
        """The hashes of all rows: by partition, and within one in the order the tables came."""
        if self._waiting:
            self._flush()
        pieces: list[tuple[str, pa.ChunkedArray]] = []
        for group, future in self._done:
            hashes, start = future.result(), 0
            for partition, rows in group:
                pieces.append((partition, hashes.slice(start, rows)))
                start += rows
        chunks = [chunk for _, piece in sorted(pieces, key=lambda piece: piece[0]) for chunk in piece.chunks]
        return pa.chunked_array(chunks, pa.binary())

    def close(self) -> None:
        """Leave what is not hashed yet."""
        self._pool.shutdown(cancel_futures=True)

    def _flush(self) -> None:
        future = self._pool.submit(content_hashes, pa.concat_tables(self._waiting), self._columns)
        self._done.append((self._group, future))
        self._waiting, self._group, self._rows = [], [], 0
