from dataclasses import replace
from datetime import datetime, timedelta, timezone
from unittest import mock

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from pitlake.lake.publishing import superseded
from pitlake.lake.publishing.superseded import facts_of_revision, new_tombstones
from pitlake.lake.storage.files import write_parquet
from pitlake.lake.storage.manifest import DataFile, TableState
from pitlake.tombstones import superseded_table_name
from tests.lake.world import HISTORY, TOY, Toy, publish, utc
from tests.toys import stored

NOON = utc("2024-03-05T12:00:00-05:00")
SEEN = utc("2024-06-01T12:00:00-04:00")
START = datetime(2024, 1, 1, tzinfo=timezone.utc)
REVISIONS = st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.sampled_from("xy"))
RUNS = st.lists(st.lists(REVISIONS, max_size=6, unique=True), max_size=4)


def table(revisions, toy=TOY):
    """Return revisions of TOY with a key, a day, and the evidence that breaks ties at the same instant."""
    schema = pa.schema([toy.arrow_schema.field(name) for name in facts_of_revision(toy)])
    rows = [
        dict.fromkeys(schema.names)
        | {
            "key": key,
            "available_at": START + timedelta(days=day),
            "evidence": text,
            **({"text": text} if toy.newer_by else {}),
            "content_hash": b"%d%a" % (day, text),
        }
        for key, day, text in revisions
    ]
    return pa.Table.from_pylist(
        [row | {"content_hash": row["key"].encode() + row["content_hash"]} for row in rows], schema
    )


@given(RUNS, st.booleans())
@settings(max_examples=100, deadline=None)
def test_rows_without_a_tombstone_as_of_an_instant_are_the_newest_at_that_instant(tmp_path_factory, runs, by_text):
    toy = replace(TOY, newer_by=("text",)) if by_text else TOY
    folder, files, rows, dead = tmp_path_factory.mktemp("dead"), [], [], []
    for number, run in enumerate(runs):
        fresh = [row for row in run if row not in rows]
        if not fresh:
            continue
        brought = new_tombstones(toy, table(fresh, toy), TableState(tuple(files)), complete=True)
        dead += brought.to_pylist()
        path = folder / f"{number}.parquet"
        write_parquet(table(fresh, toy), path)
        files.append(DataFile(str(path), len(fresh), path.stat().st_size, START, START))
        rows += fresh
    late = new_tombstones(toy, table([], toy), TableState(tuple(files)), complete=False).to_pylist()
    order = (lambda row: (row[2], row[1])) if by_text else (lambda row: row[1:])
    for tombstones in (dead, late):
        assert [row for row in tombstones if row["available_at"] < row["dead_at"]] == []  # none names a later row
        for day in range(-1, 7):
            names = {row["dead_hash"] for row in tombstones if row["available_at"] <= START + timedelta(days=day)}
            hashes = dict(zip(rows, table(rows, toy)["content_hash"].to_pylist(), strict=True))
            seen = [row for row in rows if row[1] <= day]
            newest = {max((row for row in seen if row[0] == key), key=order) for key, *_ in seen}
            assert {row for row in seen if hashes[row] not in names} == newest


@given(RUNS, st.booleans(), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_rows_compared_in_parts_have_the_same_tombstones(tmp_path_factory, runs, by_text, most_rows):
    toy = replace(TOY, newer_by=("text",)) if by_text else TOY
    stored_rows, new = (list(dict.fromkeys(row for run in part for row in run)) for part in (runs[:1], runs[1:]))
    new = table([row for row in new if row not in stored_rows], toy)
    path = tmp_path_factory.mktemp("parts") / "stored.parquet"
    write_parquet(table(stored_rows, toy), path)
    state = TableState((DataFile(str(path), len(stored_rows), path.stat().st_size, START, START),))
    whole = new_tombstones(toy, new, state, complete=True)
    with mock.patch.object(superseded, "MOST_ROWS", most_rows):
        assert new_tombstones(toy, new, state, complete=True).equals(whole)


def test_a_row_with_null_in_its_key_is_superseded_like_any_other(tmp_path):
    loose = replace(TOY, columns=tuple(replace(column, required=False) for column in TOY.columns))
    old, new = (
        pa.Table.from_pylist(
            [{"available_at": START + timedelta(days=day), "evidence": "x", "content_hash": b"%d" % day}],
            table([], loose).schema,
        )
        for day in range(2)
    )
    path = tmp_path / "stored.parquet"
    write_parquet(old, path)
    state = TableState((DataFile(str(path), 1, path.stat().st_size, START, START),))
    brought = new_tombstones(loose, new, state, complete=True)
    assert brought["dead_hash"].to_pylist() == [b"0"]


def test_publishing_the_first_rows_creates_the_tombstone_table(lake):
    publish(lake, [Toy("a", "x", NOON)], NOON)
    assert superseded_table_name("toys") in lake.snapshot().tables


def test_first_rows_that_supersede_each_other_bring_their_tombstones(lake):
    later = NOON + timedelta(hours=1)
    toys = [Toy("a", "x", NOON), Toy("b", "x", NOON), Toy("a", "y", later)]
    publish(lake, toys, SEEN, dataset=HISTORY)
    (brought,) = (row for row in stored(lake, superseded_table_name("toys")))
    assert (brought["dead_at"], brought["available_at"]) == (NOON, later)


def test_a_lake_without_tombstones_gets_all_of_them_with_its_next_rows(lake, monkeypatch):
    from pitlake.lake.publishing import publish as publishing

    with monkeypatch.context() as before:
        before.setattr(publishing, "superseded_table_name", lambda name: f"other/{name}")
        publish(lake, [Toy("a", "x", NOON)], SEEN)
        publish(lake, [Toy("a", "y", NOON)], SEEN + timedelta(days=1))
    table_name = superseded_table_name("toys")
    assert table_name not in lake.snapshot().tables
    publish(lake, [Toy("b", "x", NOON)], SEEN)
    assert sum(file.rows for file in lake.snapshot().files(table_name)) == 1
