"""The hash index excludes only files without a row that matches a staged row, and is trusted only if unchanged."""

import json
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitlake.datasets import all_datasets
from pitlake.lake import Lake
from pitlake.lake.publishing import hash_index
from pitlake.lake.publishing.hash_index import LikelyFiles, Segment
from pitlake.lake.publishing.match_keys import EVIDENCE, hashes, kinds
from pitlake.lake.publishing.stage import StagedGap
from pitlake.lake.storage import signed_cache
from pitlake.lake.storage.files import write_parquet
from pitlake.lake.storage.manifest import DataFile
from tests.lake.world import TOY, Toy, publish, rows, utc
from tests.toys import stored

TOYS = f"{hash_index.FOLDER}/toys"
KINDS = kinds(TOY)
NOON = utc("2024-03-05T12:00:00-05:00")
SEEN = utc("2024-06-01T12:00:00-04:00")
VALUES = {
    "string": st.sampled_from(["", "a", "b", "ä", "a" * 13, "\U0001f642"]),
    "int64": st.integers(-2, 2),
    "date32[day]": st.dates(),
    "timestamp[us, tz=UTC]": st.datetimes(timezones=st.just(NOON.tzinfo)),
}


def likely(lake, *keys, kinds=KINDS, of='"key"'):
    """Return the first key of each file that may contain toys with these values in column `of`."""
    question = hashes("FROM staged", ["value"], staged=pa.table({"value": pa.array(keys, pa.string())}))["value"]
    files = lake.snapshot().files("toys")
    result = LikelyFiles(lake._store, "toys", files, kinds).like(of, question)
    return sorted(pa.parquet.read_table(file.path, partitioning=None)["key"][0].as_py() for file in result)


@pytest.fixture
def lake(tmp_path):
    """A lake with one file for each of the toys a, b and c, and with stored indexes."""
    lake = Lake(tmp_path / "lake")
    for number, name in enumerate("abc"):
        publish(lake, [Toy(name, "text", NOON)], SEEN + timedelta(hours=number))
    assert likely(lake, "b") == ["b"]
    return lake


def indexes(lake):
    return sorted((lake.root / TOYS).glob(f"*{hash_index.SUFFIX}"))


def indexed(lake):
    """Return the files that the stored indexes cover."""
    reply = [pa.ipc.open_file(path).schema.metadata[b"segment"] for path in indexes(lake)]
    return [name for each in reply for name in json.loads(each)["files"]]


@pytest.fixture
def unread(monkeypatch):
    """A function that counts the files whose rows were hashed because no index was trusted."""
    sources = []
    monkeypatch.setattr(hash_index, "hashes", lambda of, kinds: sources.append(of) or hashes(of, kinds))
    return lambda: sum(source.count(".parquet'") for source in sources)


def test_only_files_with_a_row_that_matches_a_staged_row_are_returned(lake, unread):
    assert [likely(lake, name) for name in "abc"] == [["a"], ["b"], ["c"]]
    assert likely(lake, "c", "a", "z") == ["a", "c"]
    assert likely(lake, "z") == likely(lake) == []
    assert unread() == 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "harm",
    [
        lambda path: path.write_bytes(b"\0" * path.stat().st_size),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-8]),
        lambda path: path.unlink(),
        lambda path: signed_cache.signature_path(path).unlink(),
        lambda path: signed_cache.signature_path(path).write_text("[]"),
        lambda path: (path.unlink(), path.mkdir()),
    ],
    ids=["zeros", "empty", "cut off", "gone", "no record", "another record", "a folder"],
)
def test_a_damaged_or_missing_index_is_rebuilt(lake, unread, monkeypatch, harm):
    monkeypatch.setattr(signed_cache, "_trusted", {})
    for path in indexes(lake):
        harm(path)
    assert [likely(lake, name) for name in "abc"] == [["a"], ["b"], ["c"]]
    assert unread() >= 3
    publish(lake, [Toy("b", "text", NOON), Toy("b2", "text", NOON)], SEEN + timedelta(days=1))
    assert sorted(row[0] for row in rows(lake)) == ["a", "b", "b2", "c"]


def test_an_index_under_the_name_of_another_index_is_not_trusted(lake, unread):
    for path in indexes(lake):
        for item in (path, signed_cache.signature_path(path)):
            item.rename(item.with_name(item.name.replace(path.stem, "another")))
    assert ([likely(lake, name) for name in "abc"], unread()) == ([["a"], ["b"], ["c"]], 3)


def test_an_index_made_by_another_duckdb_version_is_not_used(lake, unread, monkeypatch):
    monkeypatch.setattr(hash_index.duckdb, "__version__", "0")
    assert (likely(lake, "b"), unread()) == (["b"], 3)


def test_an_index_of_other_columns_is_not_used(lake, unread):
    assert (likely(lake, "b", kinds=['"maker"'], of='"maker"'), unread()) == ([], 3)


def test_hashes_are_looked_up_separately_for_each_set_of_columns(lake):
    evidence = {row["key"]: row["evidence"] for row in stored(lake, "toys")}["c"]
    assert likely(lake, evidence, "a") == ["a"]
    assert likely(lake, evidence, "a", of=EVIDENCE) == ["c"]


def test_lookups_and_publishes_work_when_no_index_can_be_stored(lake, unread):
    folder = lake.root / hash_index.FOLDER
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()
    folder.write_text("no folder")
    assert likely(lake, "b") == ["b"]
    publish(lake, [Toy("b", "other text", NOON)], SEEN + timedelta(days=1))
    assert [row[1] for row in rows(lake) if row[0] == "b"] == ["other text", "text"]
    assert unread() >= 6


def test_the_publish_after_a_compaction_removes_indexes_of_replaced_files(lake):
    publish(lake, [Toy("d", "text", NOON + timedelta(days=60))], SEEN + timedelta(days=1))
    before = indexed(lake)
    lake.compact(TOY)
    publish(lake, [Toy("e", "text", NOON + timedelta(days=60))], SEEN + timedelta(days=2))
    files = {
        file.path.rpartition("/")[2].removesuffix(".parquet") for file in lake.snapshot(lake.head() - 1).files("toys")
    }
    assert {name.rsplit("-", 2)[0] for name in indexed(lake)} == files
    assert len(files) < len(before)
    remaining = {path.name.removesuffix(signed_cache.SUFFIX) for path in (lake.root / TOYS).iterdir()}
    assert remaining == {path.name for path in indexes(lake)}


def test_compaction_removes_only_the_indexes_of_replaced_files(tmp_path):
    lake = Lake(tmp_path / "lake")
    for number, days in enumerate((0, 0, 0, 60, 60)):
        at = NOON + timedelta(days=days)
        publish(lake, [Toy(f"{number}", "x", at)], at + timedelta(hours=number + 1))
    before = indexed(lake)
    hash_index.remove_outdated(lake._store, "toys", lake.snapshot().files("toys"))
    assert indexed(lake) == before
    lake.compact(TOY)
    current = {file.path.rpartition("/")[2].removesuffix(".parquet") for file in lake.snapshot().files("toys")}
    left = {name.rsplit("-", 2)[0] for name in indexed(lake)}
    assert left
    assert left <= current
    assert len(before) == 4


def test_a_row_is_dated_no_earlier_than_the_row_it_follows_in_any_file(lake):
    later = NOON + timedelta(hours=3)
    publish(lake, [Toy("d", "text", later)], SEEN + timedelta(days=1))
    echoes = replace(TOY, name="echoes", follows=(("key", "toys", "{key}"),))
    publish(lake, [Toy("a", "x", NOON), Toy("d", "x", NOON)], SEEN + timedelta(days=2), dataset=echoes)
    assert {row["key"]: row["available_at"] for row in stored(lake, "echoes")} == {"a": NOON, "d": later}


def test_a_gap_whose_locator_is_already_in_the_lake_is_available_when_observed(lake):
    seen = SEEN + timedelta(days=1)
    (of_a,) = (row["evidence"] for row in stored(lake, "toys") if row["key"] == "a")
    reply = [("unverifiable", "Toy:m"), ("no_data", "Toy:m"), ("no_data", of_a), ("no_data", "Toy:n")]
    for number, (kind, locator) in enumerate(reply):
        gap = StagedGap(kind, "no text", locator, NOON)
        publish(lake, [], seen + timedelta(hours=number), {NOON.date(): [gap]})
    dated = {(row["gap_type"], row["locator"]): row["available_at"] for row in stored(lake, "gaps/toys")}
    hours = [seen + timedelta(hours=number) for number in range(4)]
    assert [dated[each] for each in reply] == [NOON, hours[1], hours[2], NOON]


def test_many_publishes_leave_few_indexes_and_read_each_file_once(tmp_path, unread):
    lake = Lake(tmp_path / "lake")
    for number in range(20):
        publish(lake, [Toy(f"t{number}", "text", NOON)], SEEN + timedelta(hours=number))
        assert unread() == number
        assert len(indexes(lake)) <= 4
    assert sorted(row[0] for row in rows(lake)) == sorted(f"t{number}" for number in range(20))


@pytest.mark.parametrize("most_rows", [1, 2, 3, 100])
def test_an_index_of_files_read_in_batches_names_the_file_of_each_row(tmp_path, monkeypatch, most_rows):
    lake = Lake(tmp_path / "lake")
    names = {month: [f"{month}{number}" for number in range(month)] for month in range(1, 6)}
    toys = [Toy(name, "text", NOON + timedelta(days=31 * month)) for month, keys in names.items() for name in keys]
    publish(lake, toys, SEEN + timedelta(days=90))
    lake.compact(TOY)  # Compacted files have companions.
    publish(lake, [Toy("later", "text", NOON)], SEEN + timedelta(days=91))
    hash_index.forget(lake._store)
    monkeypatch.setattr(hash_index, "MOST_ROWS_AT_ONCE", most_rows)
    files = lake.snapshot().files("toys")
    keys_by_file = [pa.parquet.read_table(file.path, partitioning=None)["key"].to_pylist() for file in files]
    assert len(files) > 3
    for keys in keys_by_file:
        assert [likely(lake, key) for key in keys] == [[keys[0]]] * len(keys)


def test_an_index_in_another_format_is_removed(lake):
    (old := lake.root / TOYS / f"old{hash_index.SUFFIX}").write_bytes(b"not of today")
    signed_cache.sign(old)
    assert [likely(lake, name) for name in "abc"] == [["a"], ["b"], ["c"]]
    assert not old.exists()
    for _ in range(2):  # The second call finds no index.
        hash_index.forget(lake._store)
    assert [likely(lake, name) for name in "abc"] == [["a"], ["b"], ["c"]]


HELD = st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=6)


@settings(deadline=None)
@given(HELD, st.sets(st.integers(0, 5)), st.lists(st.integers(0, 7)))
def test_merged_segments_name_the_wanted_files_that_have_a_hash(held, unwanted, asked):
    segments = [Segment((str(place),), (hash_index._ordered([of(result)]),)) for place, result in enumerate(held)]
    expected = {str(place) for place in range(len(held)) if place not in unwanted}
    for _ in range(3):
        result = {name for segment in segments for name in segment.holding(0, np.sort(of(asked)))}
        assert result & expected == {name for name in expected if {*held[int(name)]} & {*asked}}
        segments = hash_index._compacted(segments, expected)


ENTRIES = st.lists(st.integers(0, 40) | st.integers((1 << 64) - 3, (1 << 64) - 1), max_size=80)


@given(ENTRIES, ENTRIES)
def test_searched_positions_equal_those_of_numpy_searchsorted(entries, asked):
    ordered, expected = np.sort(np.array(entries, np.uint64)), np.array(asked, np.uint64)
    assert hash_index._less(ordered, expected).tolist() == np.searchsorted(ordered, expected).tolist()


def of(numbers):
    """Return numbers as hashes whose last 16 bits, which an index does not store, are zero."""
    return np.array(numbers, np.uint64) << np.uint64(16)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_row_has_one_hash_in_memory_and_in_a_file(tmp_path_factory, data):
    """The columns are those that identify the rows of a random dataset, with nulls."""
    dataset = data.draw(st.sampled_from(list(all_datasets().values())))
    of_columns = (*dataset.identity, *dataset.thing, *dataset.key, *dataset.frozen, *dataset.columns_of_gap_names)
    schema = pa.schema([dataset.arrow_schema.field(name) for name in dict.fromkeys((*of_columns, "evidence"))])
    drawn = {f.name: st.none() | VALUES[str(f.type)] if f.nullable else VALUES[str(f.type)] for f in schema}
    table = pa.Table.from_pylist(data.draw(st.lists(st.fixed_dictionaries(drawn), min_size=1, max_size=5)), schema)
    path = tmp_path_factory.mktemp("hashes") / "rows.parquet"
    write_parquet(table, path)
    reply = kinds(dataset)
    stored = hashes(f"FROM {hash_index.reading([DataFile(str(path), 5, 1, NOON, NOON)])}", reply)
    halves = pa.concat_tables([table.slice(1), table.slice(0, 1)])
    for kind, result in stored.items():
        assert np.array_equal(result, hashes("FROM staged", reply, staged=table)[kind])
        assert np.array_equal(np.roll(result, -1), hashes("FROM staged", reply, staged=halves)[kind])
