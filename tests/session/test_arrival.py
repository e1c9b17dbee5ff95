"""Answers of a process that may lie: whatever is not a plain, valid, expected Arrow stream is refused."""

from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitlake.session.arrival import table
from pitlake.session.protocol import ProtocolError, tell

ROWS = pa.table({"a": [1, 2, 3], "s": ["x", None, "zz"], "l": [[1], [], None]})


def stream(rows, **options):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(rows)
    return sink.getvalue()


def test_a_plain_stream_arrives():
    assert table(stream(ROWS), 3).equals(ROWS)


def test_dictionaries_arrive():
    encoded = ROWS.set_column(1, "s", ROWS["s"].dictionary_encode())
    assert table(stream(encoded), 3).to_pylist() == ROWS.to_pylist()


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


def test_lists_of_nothing_that_would_unfold_are_refused():
    lists = pa.ListArray.from_arrays(pa.array([0, 1 << 30], pa.int32()), pa.nulls(1 << 30))
    with pytest.raises(ProtocolError):
        table(stream(pa.table({"l": lists})), 1)
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1 << 30], pa.int32()), pa.array([1]))
    with pytest.raises(ProtocolError):
        table(stream(pa.table({"r": runs})), 1 << 31)


def test_lists_of_bits_arrive():
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
def test_a_last_word_out_of_order_is_refused(word):
    with pytest.raises(ProtocolError):
        tell(word)


@given(st.binary(max_size=200))
def test_garbage_is_refused_or_empty(garbage):
    with suppress(ProtocolError):
        assert table(pa.py_buffer(garbage), 10).num_rows <= 10


@given(st.integers(0, 2000), st.integers(0, 255))
def test_a_damaged_stream_is_refused_or_valid(place, byte):
    damaged = bytearray(stream(ROWS).to_pybytes())
    damaged[place % len(damaged)] = byte
    with suppress(ProtocolError):
        table(pa.py_buffer(bytes(damaged)), 3).validate(full=True)
