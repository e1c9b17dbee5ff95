"""The content hash of a result, which covers only the names, types and values of its columns.

The same rows have the same hash, regardless of Arrow's version, batches, padding and the bytes under nulls. A receipt
can therefore be compared with an answer given years later.
"""

import hashlib
from collections.abc import Callable
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

_AT_ONCE = 1 << 20


class _Hash(Protocol):
    def update(self, data: bytes | memoryview, /) -> None: ...


def sha256_of(table: pa.Table) -> str:
    """Return the SHA-256 of a table's content as hex. It depends on the order of rows."""
    digest = hashlib.sha256()
    digest.update(f"{table.num_columns},{table.num_rows};".encode())
    for field, column in zip(table.schema, table.columns, strict=True):
        digest.update(f"{len(field.name.encode())}:{field.name};".encode())
        _feed(digest, column.combine_chunks())
    return digest.hexdigest()


def _feed(digest: _Hash, values: pa.Array | pa.ChunkedArray) -> None:
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    digest.update(f"{values.type},{len(values)};".encode())
    _feed_bits(digest, values, lambda part: part.is_valid())
    _feed_values(digest, values.drop_null())


def _feed_bits(digest: _Hash, values: pa.Array, bits: Callable[[pa.Array], pa.Array]) -> None:
    """Hash one byte per value, in pieces, because bits unpacked to bytes take eight times the space."""
    for start in range(0, len(values), _AT_ONCE):
        digest.update(_plain(bits(values.slice(start, _AT_ONCE)).cast(pa.uint8()), 1))


def _feed_values(digest: _Hash, values: pa.Array) -> None:
    kind = values.type
    if pa.types.is_null(kind):
        return
    if pa.types.is_struct(kind):
        for part in values.flatten():
            _feed(digest, part)
    elif pa.types.is_map(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        offsets = values.offsets.cast(pa.int64())
        digest.update(_plain(pc.subtract(offsets[1:], offsets[:-1]), 8))
        first, last = offsets[0].as_py(), offsets[-1].as_py()
        inner = (values.keys, values.items) if pa.types.is_map(kind) else (values.values,)
        for part in inner:
            _feed(digest, part.slice(first, last - first))
    elif pa.types.is_fixed_size_list(kind):
        _feed(digest, values.flatten())
    elif pa.types.is_boolean(kind):
        _feed_bits(digest, values, lambda part: part)
    elif kind in (pa.binary(), pa.large_binary(), pa.string(), pa.large_string()):
        texts = values.cast(pa.large_binary())
        digest.update(_plain(pc.binary_length(texts), 8))
        _, offsets, data = texts.buffers()
        if len(texts) and data is not None:
            bounds = memoryview(offsets).cast("q")
            digest.update(memoryview(data)[bounds[texts.offset] : bounds[texts.offset + len(texts)]])
    else:
        digest.update(_plain(values, kind.byte_width))


def _plain(values: pa.Array, width: int) -> memoryview:
    data = values.buffers()[1]
    if data is None or not len(values):
        return memoryview(b"")
    return memoryview(data)[values.offset * width : (values.offset + len(values)) * width]
