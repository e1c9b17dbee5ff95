"""The Delta tables below: a commit holds what it must or fails, and what no entry pins is undone by the next one."""

from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pitlake.errors import LakeConflict, LakeError, PastChanged
from pitlake.lake import Lake
from pitlake.lake.delta import DeltaTables, _add
from pitlake.lake.files import write_file
from pitlake.lake.store import Store
from tests.lake.world import TOY, Toy, publish, rows, utc

NOON = utc("2024-03-05T12:00:00-05:00")
SEEN = utc("2024-06-01T12:00:00-04:00")


@pytest.fixture
def store(lake):
    publish(lake, [Toy("a", "x", NOON)], SEEN)
    return Store(lake.root)


def new_file(store, lake):
    (known,) = lake.snapshot().files("toys")
    return write_file(store, "tables/toys", "2024-03", pq.read_table(known.path, partitioning=None))


def test_a_delta_version_nobody_pinned_is_undone_by_the_next_commit(store, lake):
    tables = DeltaTables(store)
    assert tables.commit("toys", TOY.arrow_schema, 1, [new_file(store, lake)]) == 2
    publish(lake, [Toy("b", "x", NOON)], SEEN)
    assert [row.key for row in rows(lake)] == ["a", "b"]
    assert lake.entry().tables["toys"] == 3
    assert len(DeltaTables(store).state("toys", 2).files) == 2


def test_a_file_is_held_once_it_is_committed(store, lake):
    tables, file = DeltaTables(store), new_file(store, lake)
    assert not tables.holds("toys", [file])
    assert not tables.holds("nothing", [file])
    tables.commit("toys", TOY.arrow_schema, 1, [file])
    assert tables.holds("toys", [file])


def test_a_file_that_an_unpinned_version_removed_is_brought_back(store, lake):
    tables = DeltaTables(store)
    tables.commit("toys", TOY.arrow_schema, 1, [new_file(store, lake)], lake.snapshot().files("toys"))
    publish(lake, [Toy("b", "x", NOON)], SEEN)
    assert [row.key for row in rows(lake)] == ["a", "b"]


@pytest.mark.parametrize("harm", [lambda actions: actions[1:], lambda actions: actions[:-1]], ids=["first", "last"])
def test_a_commit_that_does_not_hold_what_it_must_is_never_made_visible(store, lake, monkeypatch, harm):
    DeltaTables(store).commit("toys", TOY.arrow_schema, 1, [new_file(store, lake)])  # makes the next one undo it
    swap = DeltaTables._swap

    def harmed(self, delta, table, schema, actions, note):
        swap(self, delta, table, schema, harm(actions), note)

    monkeypatch.setattr(DeltaTables, "_swap", harmed)
    with pytest.raises(PastChanged):
        publish(lake, [Toy("b", "x", NOON)], SEEN)
    assert (lake.head(), len(rows(lake))) == (1, 1)


def test_a_commit_on_a_table_another_writer_just_moved_is_a_conflict(store, lake, monkeypatch):
    swap = DeltaTables._swap

    def overtaken(self, *args):
        monkeypatch.setattr(DeltaTables, "_swap", swap)
        DeltaTables(store).commit("toys", TOY.arrow_schema, 1, [new_file(store, lake)])
        swap(self, *args)

    monkeypatch.setattr(DeltaTables, "_swap", overtaken)
    with pytest.raises(LakeConflict, match="toys"):
        DeltaTables(store).commit("toys", TOY.arrow_schema, 1, [new_file(store, lake)])


def test_states_are_the_same_from_many_versions_on_past_a_checkpoint(store, lake):
    for number in range(45):
        publish(lake, [Toy(str(number), "x", NOON + timedelta(minutes=number))], SEEN)
    fresh = DeltaTables(store)
    assert [len(fresh.state("toys", version).files) for version in (1, 19, 20, 21, 40, 46)] == [1, 19, 20, 21, 40, 46]


def test_a_commit_that_fails_for_another_reason_is_no_conflict(store, lake):
    tables, added = DeltaTables(store), new_file(store, lake)
    opened = tables._open("toys")
    log = lake.root / "tables" / "toys" / "_delta_log"
    log.rename(log.with_name("away"))
    log.write_bytes(b"no folder")
    with pytest.raises(LakeError, match="could not commit to toys"):
        tables._swap(opened, "toys", TOY.arrow_schema, [_add(added.name, added, False)], "")


def test_a_lake_with_a_lost_data_file_says_so(lake):
    publish(lake, [Toy("a", "x", NOON)], SEEN)
    (file,) = lake.snapshot().files("toys")
    Path(file.path).unlink()
    with pytest.raises(LakeError, match="could not be read"):
        publish(lake, [Toy("a", "y", NOON)], SEEN)


def test_a_root_with_odd_characters_works_like_any_other(tmp_path):
    lake = Lake(tmp_path / "a lake, 100% 'odd' ü=1 #?")
    publish(lake, [Toy("a", "x", NOON)], SEEN)
    publish(lake, [Toy("a", "y", NOON)], SEEN)
    lake.compact(TOY, before="2025-01")
    assert [row.text for row in rows(lake)] == ["x", "y"]
