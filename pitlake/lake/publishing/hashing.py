"""content_hash: 16 bytes of SHA-256 over one unambiguous encoding of a row's business columns, a column at a time.

The encoding does not depend on how a library prints a value. Tests check it with golden values and a slow plain-Python
implementation. The contract says which columns are hashed.

Encoding of a row, columns in contract order: first a head of fixed width, then the strings one after another. In the
head, a string or list takes 4 bytes: its length in bytes, or -1 for null. Any other value takes 9 bytes: 1 and 8 bytes
of value, or 0 and zeros for null. Values are little-endian. Integers and booleans are encoded as they are, instants as
microseconds and dates as days since 1970, and floats as IEEE 754 with -0.0 as 0.0 and a single NaN. A list is the
sequence of its elements. Each element is a length and a string, or a value as in the head if it is a number.

Columns that were added to a contract after its dataset had rows are encoded after the others, each as its name and a
separate row. Null values of such columns are left out. A row without values in added columns therefore keeps its stored
hash.
"""

import hashlib
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from io import BytesIO
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pitlake.lake.storage.parallel import blocks, workers

HASH_BYTES = 16
# With this few rows, the encoding is still in the processor's caches when it is hashed.
HASHED_ROWS = 16_384
HASHED_BYTES = 4 << 20
MOST_WAITING = 8
# Rows larger than this are sliced. Smaller rows are read in sequence, which is faster although it copies them.
LONG_ROW_BYTES = 1_000

_LENGTH = np.dtype("<i4")
_VALUE = np.dtype([("present", "u1"), ("value", "<i8")])
_NO_BYTES = pa.Array.from_buffers(pa.large_binary(), 1, [None, pa.py_buffer(bytes(16)), pa.py_buffer(b"")])[0]
"""An empty value, made from buffers because pa.scalar would import pandas whenever a command starts."""


def content_hashes(table: pa.Table, columns: Sequence[str], added: frozenset[str] = frozenset()) -> pa.ChunkedArray:
    """Return the 16-byte hash of every row over `columns`, in row order. `added`: the columns that were added later."""
    content = table.select(list(columns))
    chunks = [_hash_each(encode_rows(block, added)) for block, _ in blocks(content, HASHED_ROWS, HASHED_BYTES)]
    return pa.chunked_array(chunks, pa.binary())


class Hasher:
    """A hasher of the rows of many tables with the same columns, while extraction waits for its source. Tables are
    collected so that many can be hashed together.
    """

    def __init__(self, columns: Sequence[str], added: frozenset[str] = frozenset()) -> None:
        self._columns, self._added = list(columns), added
        self._waiting: list[pa.Table] = []
        self._rows = 0
        self._done: list[Future[pa.Array]] = []
        self._pool = ThreadPoolExecutor(workers())

    def put(self, table: pa.Table) -> None:
        """Add a table's rows. The rows are hashed once there are enough of them."""
        self._waiting.append(table.select(self._columns))
        self._rows += table.num_rows
        if self._rows >= HASHED_ROWS:
            self._flush()

    def read(self, runs: Iterable[tuple[int, int]]) -> pa.ChunkedArray:
        """Return the hashes of these runs of rows, numbered in the order in which they were added."""
        if self._waiting:
            self._flush()
        hashes = pa.chunked_array([future.result() for future in self._done], pa.binary())
        chunks = [chunk for start, stop in runs for chunk in hashes.slice(start, stop - start).chunks]
        return pa.chunked_array(chunks, pa.binary())

    def close(self) -> None:
        """Stop. Rows that are not hashed yet remain unhashed."""
        self._pool.shutdown(cancel_futures=True)

    def _hashed(self, whole: pa.Table) -> pa.Array:
        """Return hashes as one array, so that a few pieces of it cover all rows."""
        return content_hashes(whole, self._columns, self._added).combine_chunks()

    def _flush(self) -> None:
        whole = pa.concat_tables(self._waiting).combine_chunks()
        self._done.append(self._pool.submit(self._hashed, whole))
        self._waiting, self._rows = [], 0
        if len(self._done) > MOST_WAITING:  # Tables that wait for the hasher take memory.
            self._done[-MOST_WAITING - 1].result()


def _hash_each(encoded: pa.LargeBinaryArray) -> pa.Array:
    _, offsets, data = encoded.buffers()
    stops = np.frombuffer(offsets, "<i8", len(encoded) + 1, encoded.offset * 8)
    content, sha256 = memoryview(data)[stops[0] : stops[-1]], hashlib.sha256
    rows: Iterable[bytes | memoryview]
    if len(content) > LONG_ROW_BYTES * len(encoded):
        rows = (content[start:stop] for start, stop in pairwise((stops - stops[0]).tolist()))
    else:
        rows = map(BytesIO(content).read, np.diff(stops).tolist())
    digests = b"".join([sha256(row).digest() for row in rows])
    hashes = np.frombuffer(digests, np.uint8).reshape(len(encoded), -1)[:, :HASH_BYTES]
    starts = np.arange(0, hashes.size + 1, HASH_BYTES, dtype="<i4")
    return pa.Array.from_buffers(
        pa.binary(), len(encoded), [None, pa.py_buffer(starts), pa.py_buffer(hashes.tobytes())]
    )


def encode_rows(table: pa.Table, added: frozenset[str] = frozenset()) -> pa.LargeBinaryArray:
    """Return the encoding of every row of a table that holds exactly the columns to be hashed, in order."""
    last = [name for name in table.column_names if name in added]
    if last:
        encodings = [encode_rows(table.select([name for name in table.column_names if name not in added]))]
        for name in last:
            prefix = pa.scalar(f"{name}\0".encode(), pa.large_binary())
            encoded = pc.binary_join_element_wise(prefix, encode_rows(table.select([name])), _NO_BYTES)
            encodings.append(pc.if_else(table[name].combine_chunks().is_valid(), encoded, _NO_BYTES))
        return pc.binary_join_element_wise(*encodings, _NO_BYTES)
    columns = [column.combine_chunks() for column in table.columns]
    texts = [_list_bytes(c) if pa.types.is_list(c.type) else c if pa.types.is_string(c.type) else None for c in columns]
    layout = np.dtype([(str(i), _VALUE if text is None else _LENGTH) for i, text in enumerate(texts)])
    head = np.zeros(table.num_rows, layout)
    for index, (column, text) in enumerate(zip(columns, texts, strict=True)):
        if text is None:
            head[str(index)] = _values(column)
        else:
            head[str(index)] = pc.binary_length(text).fill_null(-1).to_numpy(zero_copy_only=False)
    parts = [_fixed_width(head), *(_without_nulls(text) for text in texts if text is not None)]
    return pc.binary_join_element_wise(*parts, _NO_BYTES)


def _values(column: pa.Array) -> npt.NDArray[Any]:
    values = np.zeros(len(column), _VALUE)
    values["present"] = column.is_valid().to_numpy(zero_copy_only=False)
    values["value"] = _as_int64(column)
    return values


def _as_int64(column: pa.Array) -> npt.NDArray[np.int64]:
    kind = column.type
    if pa.types.is_floating(kind):
        column = column.cast(pa.float64())
        floats: npt.NDArray[np.float64] = column.fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0  # folds -0.0
        floats[np.isnan(floats)] = np.nan
        return floats.view("<i8")
    if pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    integers: npt.NDArray[np.int64] = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return integers


def _list_bytes(column: pa.ListArray) -> pa.LargeBinaryArray:
    elements = column.flatten()
    if pa.types.is_string(elements.type):
        lengths = _fixed_width(pc.binary_length(elements).fill_null(-1).to_numpy(zero_copy_only=False).astype(_LENGTH))
        encoded = pc.binary_join_element_wise(lengths, _without_nulls(elements), _NO_BYTES)
    else:
        encoded = _fixed_width(_values(elements))
    counts = pc.list_value_length(column)
    stops = np.concatenate([[0], np.cumsum(counts.fill_null(0).to_numpy(zero_copy_only=False))])
    starts = np.frombuffer(encoded.buffers()[1], "<i8", len(encoded) + 1, encoded.offset * 8)
    joined = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(column), [None, pa.py_buffer(starts[stops]), encoded.buffers()[2]]
    )
    return pc.if_else(column.is_valid(), joined, pa.scalar(None, pa.large_binary()))


def _without_nulls(text: pa.Array) -> pa.LargeBinaryArray:
    binary = text.cast(pa.large_binary())
    return binary.fill_null(_NO_BYTES) if binary.null_count else binary


def _fixed_width(head: npt.NDArray[Any]) -> pa.LargeBinaryArray:
    offsets = np.arange(0, (len(head) + 1) * head.itemsize, head.itemsize, dtype="<i8")
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(head), [None, pa.py_buffer(offsets), pa.py_buffer(head.view("u1"))]
    )
