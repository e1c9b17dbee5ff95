"""One Parquet file: its order, bounds and encodings, and strings too long for one Arrow array."""

from datetime import timedelta
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitlake.clock import from_micros
from pitlake.lake.storage.files import (
    SAMPLE_ROWS,
    _take_narrow,
    ceil_millis,
    floor_millis,
    layout,
    sorted_by,
    write_parquet,
)

entities = st.none() | st.text(max_size=3)
micros = st.integers(-(2**55), 2**55)


@settings(deadline=None)
@given(st.lists(st.tuples(entities, micros), min_size=1, max_size=20))
def test_rows_are_ordered_by_the_bytes_of_their_entity_then_by_instant(rows):
    entity = pa.chunked_array([[name for name, _ in rows[:7]], [name for name, _ in rows[7:]]], pa.string())
    order = sorted_by(entity, np.array([at for _, at in rows]))
    key = lambda place: ((rows[place][0] or "").encode(), rows[place][0] is not None, rows[place][1])  # noqa: E731
    assert [key(place) for place in order] == sorted(key(place) for place in range(len(rows)))


@given(micros)
def test_bounds_are_whole_milliseconds_around_the_instant(count):
    moment = from_micros(count)
    low, high = floor_millis(moment), ceil_millis(moment)
    assert low <= moment <= high
    assert (high - low) in (timedelta(0), timedelta(milliseconds=1))
    assert low.microsecond % 1000 == high.microsecond % 1000 == 0


@pytest.fixture
def written(tmp_path):
    names = [f"name {number % 10}" for number in range(200_000)]
    rows = pa.table(
        {
            "name": names,
            "id": [f"id {number}" for number in range(200_000)],
            "names": [[name, None] for name in names],
            "text": [f"{number % 10}" * 300 for number in range(200_000)],
            "content_hash": pa.array([number.to_bytes(16, "big") for number in range(200_000)], pa.binary()),
        }
    )
    write_parquet(rows, tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet").equals(rows)
    return pq.read_metadata(tmp_path / "a.parquet")


def test_short_repeating_columns_get_a_dictionary_and_hashes_are_not_compressed(written):
    columns = {column.path_in_schema: column for column in map(written.row_group(0).column, range(5))}
    dictionaries = {path: "RLE_DICTIONARY" in column.encodings for path, column in columns.items()}
    repeating = {"name": True, "names.list.element": True, "id": False, "text": False, "content_hash": False}
    assert dictionaries == repeating
    compression = {path: column.compression for path, column in columns.items()}
    assert compression.pop("content_hash") == "UNCOMPRESSED"
    assert set(compression.values()) == {"ZSTD"}
    assert [path for path, column in columns.items() if not column.is_stats_set] == ["content_hash"]


@pytest.mark.parametrize("pieces", [1, 3])
def test_columns_with_at_most_90_percent_distinct_values_get_a_dictionary(pieces):
    most = int(0.9 * SAMPLE_ROWS)
    numbers = range(SAMPLE_ROWS)  # the sample then contains every row
    rows = pa.table(
        {
            "at most": [str(min(number, most - 1)) for number in numbers],
            "one more": [str(min(number, most)) for number in numbers],
            "and nulls": [str(number) if number < most else None for number in numbers],
            "one more and nulls": [str(number) if number <= most else None for number in numbers],
            "lists": [[str(number), "x"] for number in numbers],
            "long": ["x" * 300 for _ in numbers],
        }
    )
    bounds = [SAMPLE_ROWS * piece // pieces for piece in range(pieces + 1)]
    lying = pa.concat_tables([rows.slice(start, end - start) for start, end in pairwise(bounds)])
    assert layout(lying, "lz4")["use_dictionary"] == ["at most", "and nulls", "lists.list.element"]


def test_a_column_in_runs_gets_a_dictionary_even_if_it_has_many_values():
    numbers = range(60_000)
    rows = pa.table(
        {
            "in runs": [f"company {number // 3}" for number in numbers],
            "as many, mixed": [f"company {number % 20_000}" for number in numbers],
        }
    )
    assert layout(rows, "lz4")["use_dictionary"] == ["in runs"]


def test_row_groups_have_32768_rows(written):
    sizes = [written.row_group(number).num_rows for number in range(written.num_row_groups)]
    assert sizes == [32_768] * 6 + [3_392]


class Long:
    """A table that simulates Arrow's limit of 2 GiB per string array: at most two rows fit into one array."""

    def __init__(self, rows):
        self.rows = rows
        self.schema = rows.schema

    def take(self, positions):
        return Long(self.rows.take(positions))

    def cast(self, schema):
        if self.rows.num_rows > 2:
            raise pa.ArrowInvalid("offset overflow")
        return self.rows.cast(schema)


def test_text_too_long_for_one_array_is_taken_in_pieces_and_in_order():
    rows = pa.table({"text": pa.array(list("abcdefghi"), pa.large_string())})
    schema = pa.schema({"text": pa.string()})
    taken = _take_narrow(Long(rows), np.array([8, 0, 7, 1, 6]), schema)
    assert (taken.schema, taken["text"].to_pylist()) == (schema, list("iahbg"))
