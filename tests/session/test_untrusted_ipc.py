"""Answers from an untrusted process: anything but a plain, valid, expected Arrow stream is refused."""

import struct
from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitlake.session.sealed.protocol import ProtocolError, decode_end
from pitlake.session.sealed.untrusted_ipc import table

ROWS = pa.table({"a": [1, 2, 3], "s": ["x", None, "zz"], "l": [[1], [], None]})


def stream(rows, **options):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(rows)
    return sink.getvalue()


def test_a_plain_arrow_stream_is_accepted():
    assert table(stream(ROWS), 3).equals(ROWS)


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_compressed_buffers_are_refused(codec):
    bomb = pa.table({"a": pa.array([0] * 1_000_000)})
    with pytest.raises(ProtocolError):
        table(stream(bomb, compression=codec), 1_000_000)


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_compressed_dictionaries_are_refused(codec):
    bomb = pa.table({"a": pa.array(["x" * 100_000]).dictionary_encode()})
    with pytest.raises(ProtocolError):
        table(stream(bomb, compression=codec), 1)


def test_more_rows_than_asked_for_are_refused():
    with pytest.raises(ProtocolError, match="more rows"):
        table(stream(ROWS), 2)


def test_invalid_text_is_refused():
    schema = pa.schema({"s": pa.string()})
    array = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")])
    with pytest.raises(ProtocolError):
        table(stream(pa.Table.from_arrays([array], schema=schema)), 1)


def nested(values):
    """Return the values bare, in a list, in a struct and in a map."""
    item = pa.array([0, len(values)], pa.int32())
    keys = pa.array(range(len(values)))
    return {
        "bare": values,
        "list": pa.ListArray.from_arrays(item, values),
        "struct": pa.StructArray.from_arrays([values], ["s"]),
        "map": pa.MapArray.from_arrays(item, keys, values),
    }


CODES = pa.array([0, 0, 1], pa.int8())
SHARED = {
    "dictionary": pa.DictionaryArray.from_arrays(CODES, pa.array(["x" * 1000, "y"])),
    "dense union": pa.UnionArray.from_dense(CODES, pa.array([0, 0, 0], pa.int32()), [pa.array(["x"]), pa.array([1])]),
    "sparse union": pa.UnionArray.from_sparse(CODES, [pa.array(["x"] * 3), pa.array([1] * 3)]),
    "text view": pa.array(["x" * 1000] * 3, pa.string_view()),
    "bytes view": pa.array([b"x" * 1000] * 3, pa.binary_view()),
    "list view": pa.ListViewArray.from_arrays([0, 0, 0], [3, 3, 3], pa.array([1, 2, 3])),
    "large list view": pa.LargeListViewArray.from_arrays([0, 0, 0], [3, 3, 3], pa.array([1, 2, 3])),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([3], pa.int32()), pa.array(["x"])),
    "no struct": pa.array([{}] * 3, pa.struct([])),
    "no list": pa.array([[]] * 3, pa.list_(pa.int8(), 0)),
    "uuid": pa.array([b"0" * 16] * 3, pa.uuid()),
}


@pytest.mark.parametrize("kind", SHARED)
@pytest.mark.parametrize("place", ["bare", "list", "struct", "map"])
def test_values_that_share_bytes_are_refused(kind, place):
    values = nested(SHARED[kind])[place]
    with pytest.raises(ProtocolError, match="a type that is not plain"):
        table(stream(pa.table({"v": values})), 3)


@pytest.mark.parametrize("place", ["list", "map"])
def test_null_typed_values_inside_lists_and_maps_are_refused(place):
    with pytest.raises(ProtocolError, match="not a valid Arrow stream"):
        table(stream(pa.table({"v": nested(pa.nulls(1 << 20))[place]})), 1)


def test_buffers_that_overlap_are_refused():
    """Thirty columns share the same 8,000 bytes."""
    rows = pa.table({f"c{i:02}": pa.array([i] * 1000, pa.int64()) for i in range(30)})
    sent = bytearray(stream(rows).to_pybytes())
    for i in range(1, 30):  # the buffers of a column: no bitmap, then the values
        place = sent.find(struct.pack("<qqqq", 8000 * i, 0, 8000 * i, 8000))
        sent[place : place + 24] = struct.pack("<qqq", 0, 0, 0)
    length = sent.find(struct.pack("<q", 30 * 8000))
    sent[length : length + 8] = struct.pack("<q", 8000)
    shared = pa.py_buffer(bytes(sent[: -29 * 8000 - 8] + sent[-8:]))
    assert pa.ipc.open_stream(shared).read_all().nbytes == 30 * 8000
    with pytest.raises(ProtocolError, match="more rows"):
        table(shared, 1000)


def test_a_message_whose_type_field_lies_beyond_its_end_is_refused():
    sent = bytearray(stream(ROWS).to_pybytes())
    root = 8 + struct.unpack_from("<I", sent, 8)[0]
    fields = root - struct.unpack_from("<i", sent, root)[0]
    struct.pack_into("<H", sent, fields + 6, 0xFFFF)  # the field with the type of the message
    with pytest.raises(ProtocolError, match="not a valid Arrow stream"):
        table(pa.py_buffer(bytes(sent)), 3)


def test_lists_of_booleans_are_accepted():
    rows = pa.table({"l": [[True] * 100_000, []], "n": pa.nulls(2)})
    assert table(stream(rows), 2).equals(rows)


@pytest.mark.parametrize(
    "word",
    [
        b"",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"order": "x", "truncated": false, "stateless": false, "failure": null}',
        b'{"order": 1, "truncated": true}',
        b'{"order": 1, "truncated": false, "stateless": true, "failure": {"kind": 1}}',
        b'{"order": 1, "truncated": 0, "stateless": 0, "failure": {"kind": 1, "message": 1, "limit": "x", "fatal": 0}}',
    ],
)
def test_a_malformed_end_message_is_refused(word):
    with pytest.raises(ProtocolError):
        decode_end(word)


@given(st.binary(max_size=200))
def test_random_bytes_are_refused_or_read_within_the_row_limit(garbage):
    with suppress(ProtocolError):
        assert table(pa.py_buffer(garbage), 10).num_rows <= 10


@given(st.integers(0, 2000), st.integers(0, 255))
def test_a_damaged_stream_is_refused_or_valid(place, byte):
    damaged = bytearray(stream(ROWS).to_pybytes())
    damaged[place % len(damaged)] = byte
    with suppress(ProtocolError):
        table(pa.py_buffer(bytes(damaged)), 3).validate(full=True)
