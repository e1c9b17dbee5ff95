"""Reading the rows between two instants from a Parquet file, for every encoding of the file."""

import random
from datetime import timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pitlake.clock import from_micros
from pitlake.contract import INSTANT
from pitlake.lake.tables import compacted

SCHEMA = pa.schema(
    [
        pa.field("name", pa.string()),
        pa.field("id", pa.string(), nullable=False),
        pa.field("moods", pa.list_(pa.string())),
        pa.field("hash", pa.binary()),
        pa.field("available_at", INSTANT, nullable=False),
        pa.field("newer", pa.string()),
    ]
)
STORED = SCHEMA.remove(SCHEMA.get_field_index("newer"))
LAST = 100
WAYS = {
    "coded": {},
    "plain": {"use_dictionary": False},
    "coded to a point": {"dictionary_pagesize_limit": 32, "data_page_size": 64, "write_batch_size": 8},
    "without bounds": {"write_statistics": False},
}


def random_table(rng):
    return [
        {
            "name": rng.choice(("a", "bb", None)),
            "id": f"id {number}",
            "moods": rng.choice((["calm", None], [], None)),
            "hash": rng.randbytes(4),
            "available_at": from_micros(rng.randrange(LAST)),
        }
        for number in range(200)
    ]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(3))
def test_reading_between_two_instants_returns_exactly_the_rows_in_that_range(tmp_path, seed, way):
    rng, path = random.Random(seed), tmp_path / "rows.parquet"
    rows = sorted(random_table(rng), key=lambda each: each["available_at"]) if seed else random_table(rng)
    pq.write_table(pa.Table.from_pylist(rows, schema=STORED), path, row_group_size=60, **WAYS[way])
    whole = [(None, None), (0, LAST), (None, LAST), (LAST, None), (0, -1)]
    for since, until in (*whole, *((rng.randrange(LAST), rng.randrange(LAST)) for _ in range(20))):
        first = from_micros(0) if since is None else from_micros(since)
        last = from_micros(LAST) if until is None else from_micros(until)
        right = [row | {"newer": None} for row in rows if first <= row["available_at"] <= last]
        if (since, until) != (None, None):
            with path.open("rb") as source:
                assert compacted.count(source, since, until) == len(right)
        with path.open("rb") as source:
            result = compacted.shaped(compacted.read(source, SCHEMA.names, since, until), SCHEMA)
        assert result.schema == SCHEMA
        assert result.to_pylist() == right


@pytest.mark.parametrize(
    ("since", "until", "parts"),
    [
        (None, None, [(None, 19), (20, 29), (30, None)]),
        (10, 30, [(10, 19), (20, 29), (30, 30)]),
        (20, 29, [(20, 29)]),
    ],
)
def test_a_span_is_split_where_periods_start(since, until, parts):
    assert list(compacted.spans((10, 20, 30), since, until)) == parts


def test_dictionary_encoded_columns_stay_encoded_when_rows_are_filtered(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(random_table(random.Random(0)), schema=STORED), path, use_dictionary=["name"])
    with path.open("rb") as source:
        result = compacted.read(source, STORED.names, 10, 20)
    assert pa.types.is_dictionary(result.schema.field("name").type)
    assert result.schema.field("id").type == pa.string()
    assert max(result["available_at"].to_pylist()) - min(result["available_at"].to_pylist()) <= timedelta(
        microseconds=10
    )


def test_texts_are_in_the_order_of_their_bytes_and_null_is_last():
    texts = ["ä", None, "b", "", "a", "aa", None, "B"]
    numbers = list(range(len(texts)))
    rows = pa.table({"text": pa.chunked_array([texts[:3], texts[3:]], pa.string()), "number": numbers[::-1]})
    ordered = compacted.Form(rows.schema, ("text", "number")).arranged(rows)
    expected = sorted(zip(texts, numbers[::-1], strict=True), key=lambda row: (row[0] is None, row[0] or "", row[1]))
    assert list(zip(*ordered.to_pydict().values(), strict=True)) == expected
    assert not compacted.Form(rows.schema, ("text",)).positions(rows.slice(0, 0))


def test_a_form_without_a_column_drops_that_column_from_schema_and_order():
    form = compacted.Form(SCHEMA, ("name", "id", "newer")).without(frozenset({"name", "newer"}))
    assert (form.schema.names, form.order) == (["id", "moods", "hash", "available_at"], ("id",))
    rows = pa.table({"id": ["b", "a"]}, schema=pa.schema([SCHEMA.field("id")]))
    assert form.arranged(rows)["id"].to_pylist() == ["a", "b"]
