"""Reads a session's answer: Arrow IPC from an untrusted process.

Bytes are limited before they are read. Anything that could expand is refused: compressed buffers, which are found in
the messages, and types whose values share bytes, which are found in the schema. The table is fully validated before it
is returned.
"""

import struct

import pyarrow as pa

from pitlake.session.sealed.protocol import ProtocolError

_CONTINUATION = 0xFFFFFFFF
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
_COMPRESSION, _DATA = 3, 1  # The fields of RecordBatch and DictionaryBatch in Arrow's Message.fbs.
_PLAIN = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_temporal,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
)


def table(stream: pa.Buffer, rows: int) -> pa.Table:
    """Return the table of an IPC stream with at most `rows` rows. Raises ProtocolError for an invalid stream."""
    try:
        _refuse_compression(memoryview(stream))
        reader = pa.ipc.open_stream(stream)
        plain = all(_is_plain(field.type) for field in reader.schema)
        content = reader.read_all() if plain else None
        if content is not None:
            content.validate(full=True)
    except (pa.ArrowException, struct.error, IndexError, ValueError, OSError, RecursionError) as problem:
        raise ProtocolError(f"the session's answer is not a valid Arrow stream ({type(problem).__name__})") from None
    if content is None:
        raise ProtocolError("the session's answer is not a valid Arrow stream (a type that is not plain)")
    # Overlapping buffers would expand to more bytes than were received.
    if content.num_rows > rows or content.nbytes > len(stream):
        raise ProtocolError("the session sent more rows than were asked for")
    return content


def _is_plain(kind: pa.DataType, *, in_list: bool = False) -> bool:
    """Return whether values of the type never share bytes, so that the received size limits the decoded size."""
    is_a = pa.types
    if is_a.is_null(kind):
        return not in_list
    if is_a.is_struct(kind):
        return kind.num_fields > 0 and all(_is_plain(part.type, in_list=in_list) for part in kind)
    if is_a.is_map(kind):
        return _is_plain(kind.key_type, in_list=True) and _is_plain(kind.item_type, in_list=True)
    if is_a.is_fixed_size_list(kind) and kind.list_size < 1:
        return False
    if is_a.is_list(kind) or is_a.is_large_list(kind) or is_a.is_fixed_size_list(kind):
        return _is_plain(kind.value_type, in_list=True)
    return any(test(kind) for test in _PLAIN)


def _refuse_compression(stream: memoryview) -> None:
    at = 0
    while at + 8 <= len(stream):
        continuation, length = struct.unpack_from("<II", stream, at)
        if continuation != _CONTINUATION:
            raise ValueError("no message")
        if length == 0:
            return
        message = stream[at + 8 : at + 8 + length]
        root = int(struct.unpack_from("<I", message, 0)[0])
        kind = message[_field(message, root, 1)]
        header = _follow(message, _field(message, root, 2))
        if kind == _DICTIONARY_BATCH:
            header, kind = _follow(message, _field(message, header, _DATA)), _RECORD_BATCH
        if kind == _RECORD_BATCH and _field(message, header, _COMPRESSION):
            raise ValueError("compressed")
        body = _field(message, root, 3)
        at += 8 + length + (struct.unpack_from("<q", message, body)[0] if body else 0)


def _follow(message: memoryview, at: int) -> int:
    return at + int(struct.unpack_from("<I", message, at)[0])


def _field(message: memoryview, base: int, number: int) -> int:
    """Return the position of a flatbuffer table's field; 0 if it is absent."""
    vtable = base - struct.unpack_from("<i", message, base)[0]
    size = struct.unpack_from("<H", message, vtable)[0]
    slot = 4 + 2 * number
    offset = struct.unpack_from("<H", message, vtable + slot)[0] if slot < size else 0
    return base + int(offset) if offset else 0
