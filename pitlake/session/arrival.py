"""Reading a session's answer: Arrow IPC from a process that is not trusted.

Bytes are capped before they are read, compressed buffers (which could unfold to any size) are refused by looking at
the messages first, and the table is validated in full before anyone sees it. Called by process.py.
"""

import struct

import pyarrow as pa

from pitlake.session.protocol import ProtocolError

_CONTINUATION = 0xFFFFFFFF
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
_COMPRESSION, _DATA = 3, 1  # fields of RecordBatch and DictionaryBatch in Arrow's Message.fbs


def table(stream: pa.Buffer, rows: int) -> pa.Table:
    """The table of an IPC stream with at most `rows` rows. Raises ProtocolError for anything out of order."""
    try:
        _refuse_compression(memoryview(stream))
        found = pa.ipc.open_stream(stream).read_all()
        found.validate(full=True)
    except (pa.ArrowException, struct.error, IndexError, ValueError, OSError) as problem:
        raise ProtocolError(f"the session's answer is no valid Arrow stream ({type(problem).__name__})") from None
    if found.num_rows > rows or any(_unfolds(column, len(stream)) for column in found.columns):
        raise ProtocolError("the session sent more rows than was asked for")
    return found


def _unfolds(values: pa.ChunkedArray | pa.Array, size: int) -> bool:
    """Whether some nested values are many without taking even a bit, as lists of nothing but null can."""
    if isinstance(values, pa.ChunkedArray):
        return any(_unfolds(chunk, size) for chunk in values.chunks)
    if pa.types.is_run_end_encoded(values.type):
        return True
    if isinstance(values, pa.ExtensionArray):
        return _unfolds(values.storage, size)
    if isinstance(values, pa.StructArray):
        return any(_unfolds(part, size) for part in values.flatten())
    if isinstance(values, (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray, pa.MapArray)):
        return len(values.values) > 8 * size or _unfolds(values.values, size)
    return False


def _refuse_compression(stream: memoryview) -> None:
    at = 0
    while at + 8 <= len(stream):
        continuation, length = struct.unpack_from("<II", stream, at)
        if continuation != _CONTINUATION:
            raise ValueError("no message")
        if length == 0:
            return
        message = stream[at + 8 : at + 8 + length]
        root = _root(message)
        kind = message[_field(message, root, 1)]
        header = _follow(message, _field(message, root, 2))
        if kind == _DICTIONARY_BATCH:
            header, kind = _follow(message, _field(message, header, _DATA)), _RECORD_BATCH
        if kind == _RECORD_BATCH and _field(message, header, _COMPRESSION):
            raise ValueError("compressed")
        body = _field(message, root, 3)
        at += 8 + length + (struct.unpack_from("<q", message, body)[0] if body else 0)


def _root(message: memoryview) -> int:
    return int(struct.unpack_from("<I", message, 0)[0])


def _follow(message: memoryview, at: int) -> int:
    return at + int(struct.unpack_from("<I", message, at)[0])


def _field(message: memoryview, base: int, number: int) -> int:
    """Where a flatbuffer table's field is, 0 when it is absent."""
    vtable = base - struct.unpack_from("<i", message, base)[0]
    size = struct.unpack_from("<H", message, vtable)[0]
    slot = 4 + 2 * number
    offset = struct.unpack_from("<H", message, vtable + slot)[0] if slot < size else 0
    return base + int(offset) if offset else 0
