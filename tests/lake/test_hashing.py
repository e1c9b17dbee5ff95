"""content_hash matches golden values and a slow reference, is injective, and does not depend on Arrow's chunks."""

import math
import struct
from datetime import date, datetime, timezone

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitlake.contract import TYPES
from pitlake.lake.publishing import hashing
from pitlake.lake.publishing.hashing import content_hashes, encode_rows
from tests.lake.slow_hash import slow_hash

ALL = ("string", "json", "strings", "int", "float", "bool", "date", "instant")

VALUES = {
    "string": st.text(max_size=8),
    "json": st.sampled_from(["{}", "[]", '{"a": 1}', ""]),
    "strings": st.lists(st.none() | st.text(max_size=3), max_size=3),
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(),
    "bool": st.booleans(),
    "date": st.dates(),
    "instant": st.datetimes(timezones=st.just(timezone.utc)),
}


def table_of(kinds, rows):
    columns = zip(*rows, strict=True) if rows else [[] for _ in kinds]
    arrays = [pa.array(list(column), TYPES[kind]) for kind, column in zip(kinds, columns, strict=True)]
    return pa.table(arrays, names=[f"c{place}" for place in range(len(kinds))])


def hashes(table):
    return content_hashes(table, table.column_names).to_pylist()


rows_of_all_kinds = st.lists(st.tuples(*(st.none() | VALUES[kind] for kind in ALL)), max_size=6)


@settings(deadline=None)
@given(rows_of_all_kinds)
def test_content_hashes_equal_those_of_the_slow_reference(rows):
    assert hashes(table_of(ALL, rows)) == [slow_hash(ALL, row) for row in rows]


@settings(deadline=None)
@given(rows_of_all_kinds, st.data())
def test_slices_and_chunks_hash_as_the_whole(rows, data):
    table = table_of(ALL, rows)
    cut = data.draw(st.integers(0, len(rows)))
    chunked = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    assert hashes(chunked) == hashes(table)
    assert hashes(table.slice(cut)) == hashes(table)[cut:]


@settings(deadline=None)
@given(st.lists(st.tuples(st.none() | st.text(max_size=3), st.none() | st.text(max_size=3)), min_size=2, max_size=2))
def test_different_rows_have_different_encodings(rows):
    first, second = encode_rows(table_of(("string", "string"), rows)).to_pylist()
    assert (first == second) == (rows[0] == rows[1])


@settings(deadline=None)
@given(st.lists(st.none() | st.lists(st.none() | st.text(max_size=2), max_size=3), min_size=2, max_size=2))
def test_different_lists_have_different_encodings(lists):
    first, second = encode_rows(table_of(("strings",), [(value,) for value in lists])).to_pylist()
    assert (first == second) == (lists[0] == lists[1])


def test_null_is_not_empty_and_zero_is_not_null():
    assert len(set(hashes(table_of(("string", "int"), [(None, 0), ("", 0), (None, None), ("", None)])))) == 4


def test_negative_zero_hashes_like_zero_and_all_nans_hash_alike():
    other_nan = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]
    assert len(set(hashes(table_of(("float",), [(0.0,), (-0.0,)])))) == 1
    assert len(set(hashes(table_of(("float",), [(math.nan,), (other_nan,), (-math.nan,)])))) == 1


@pytest.mark.parametrize("length", [1, hashing.LONG_ROW_BYTES * 2], ids=["short", "long"])
@pytest.mark.parametrize("count", [1, hashing.HASHED_ROWS // 2], ids=["few", "many"])
def test_hashes_do_not_depend_on_the_number_or_length_of_rows(length, count):
    rows = [("x" * length, ["é", None]), (None, []), ("short", None)] * count
    assert hashes(table_of(("string", "strings"), rows)) == [slow_hash(("string", "strings"), row) for row in rows]


def test_more_rows_than_one_block_hash_correctly():
    rows = [(str(number), number) for number in range(70_000)]
    assert hashes(table_of(("string", "int"), rows)) == [slow_hash(("string", "int"), row) for row in rows]


def test_garbage_under_null_is_not_hashed():
    clean = pa.array([None, "b"])
    dirty = pa.StringArray.from_buffers(
        2, pa.py_buffer(struct.pack("<3i", 0, 7, 8)), pa.py_buffer(b"garbageb"), pa.py_buffer(b"\x02")
    )
    assert dirty.to_pylist() == clean.to_pylist()
    assert hashes(pa.table({"c": dirty})) == hashes(pa.table({"c": clean}))


@pytest.mark.parametrize(
    ("kind", "value", "golden"),
    [
        ("string", "Umsatz – 収益", "6b3aed4e62c2bdfbfb4b3286f2d3a897"),
        ("json", '{"a":1}', "2d7374431b5833fd2728d85f76369c7e"),
        ("strings", ["a", None, ""], "7df25f25d0bc70f1ef2d246b65bc13aa"),
        ("int", -42, "daf4b97faaa474638f133a504ab512e3"),
        ("float", 0.1, "0c2ed5e6ce9e3c08851fece61e4155e7"),
        ("bool", True, "46f8ec5a439c92e1df8299e1a4432a7e"),
        ("date", date(2024, 2, 29), "b27e8394e660a0fb479e417aedae914e"),
        ("instant", datetime(2024, 3, 10, 7, 30, 0, 1, timezone.utc), "f363cf21736da523f79098bbe594757e"),
        ("string", None, "ad95131bc0b799c0b1af477fb14fcf26"),
    ],
)
def test_content_hashes_equal_golden_values(kind, value, golden):
    assert hashes(table_of((kind,), [(value,)]))[0].hex() == golden
