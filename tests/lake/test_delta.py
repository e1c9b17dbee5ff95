"""Delta tables: a commit has the expected files or fails, and the next one undoes versions that no log entry pins."""

import json
import os
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, Field
from deltalake.schema import PrimitiveType

from pitlake.errors import LakeConflict, LakeError, PastChanged
from pitlake.lake import Lake
from pitlake.lake.storage.files import write_file
from pitlake.lake.storage.store import Store
from pitlake.lake.tables.commits import added
from pitlake.lake.tables.delta import DeltaTables
from tests.lake.world import TOY, Toy, publish, rows, utc

NOON = utc("2024-03-05T12:00:00-05:00")
SEEN = utc("2024-06-01T12:00:00-04:00")


@pytest.fixture
def store(lake):
    publish(lake, [Toy("a", "x", NOON)], SEEN)
    return Store(lake.root)


def new_file(store, lake):
    (existing,) = lake.snapshot().files("toys")
    return write_file(store, "tables/toys", "2024-03", pq.read_table(existing.path, partitioning=None))


def test_a_delta_version_nobody_pinned_is_undone_by_the_next_commit(store, lake):
    tables = DeltaTables(store)
    assert tables.commit("toys", TOY.arrow_schema, 1, [new_file(store, lake)]) == 2
    publish(lake, [Toy("b", "x", NOON)], SEEN)
    assert [row.key for row in rows(lake)] == ["a", "b"]
    assert lake.entry().tables["toys"] == 3
    assert len(DeltaTables(store).state("toys", 2).files) == 2


def test_holds_is_true_for_a_file_only_after_its_commit(store, lake):
    tables, file = DeltaTables(store), new_file(store, lake)
    assert not tables.holds("toys", [file])
    assert not tables.holds("nothing", [file])
    tables.commit("toys", TOY.arrow_schema, 1, [file])
    assert tables.holds("toys", [file])


@pytest.mark.parametrize("files", [0, 1])
def test_a_table_left_by_a_dead_writer_is_fsynced_before_it_is_pinned(store, lake, monkeypatch, files):
    DeltaTables(store)._create("others", TOY.arrow_schema)
    forced = set()
    monkeypatch.setattr(os, "fsync", lambda handle: forced.add(os.fstat(handle).st_ino))
    assert DeltaTables(store).commit("others", TOY.arrow_schema, None, [new_file(store, lake)] * files) == files
    log = lake.root / "tables/others/_delta_log"
    assert {path.stat().st_ino for path in (log, *log.glob("*.json"))} <= forced


def test_a_file_that_an_unpinned_version_removed_is_brought_back(store, lake):
    tables = DeltaTables(store)
    tables.commit("toys", TOY.arrow_schema, 1, [new_file(store, lake)], lake.snapshot().files("toys"))
    publish(lake, [Toy("b", "x", NOON)], SEEN)
    assert [row.key for row in rows(lake)] == ["a", "b"]


@pytest.mark.parametrize("harm", [lambda actions: actions[1:], lambda actions: actions[:-1]], ids=["first", "last"])
def test_a_commit_with_missing_actions_raises_and_never_becomes_visible(store, lake, monkeypatch, harm):
    DeltaTables(store).commit("toys", TOY.arrow_schema, 1, [new_file(store, lake)])  # the next commit undoes it
    swap = DeltaTables._swap

    def harmed(self, table, version, actions, note):
        swap(self, table, version, harm(actions), note)

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


def test_table_states_are_right_for_versions_before_and_after_checkpoints(store, lake):
    for number in range(45):
        publish(lake, [Toy(str(number), "x", NOON + timedelta(minutes=number))], SEEN)
    fresh = DeltaTables(store)
    assert [len(fresh.state("toys", version).files) for version in (1, 19, 20, 21, 40, 46)] == [1, 19, 20, 21, 40, 46]


def test_a_commit_that_fails_on_a_storage_error_is_not_reported_as_a_conflict(store, lake):
    tables, file = DeltaTables(store), new_file(store, lake)
    log = lake.root / "tables" / "toys" / "_delta_log"
    log.rename(log.with_name("away"))
    log.write_bytes(b"no folder")
    with pytest.raises(LakeError, match="refused or could not be reached") as failed:
        tables._swap("toys", 2, [added(file.name, file, same_rows=False)], "")
    assert not isinstance(failed.value, LakeConflict)


def test_publishing_to_a_lake_with_a_lost_data_file_raises(lake):
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


@pytest.mark.parametrize("versions", [1, 19, 24], ids=["no checkpoint", "a checkpoint", "commits since"])
def test_a_contract_without_a_stored_column_commits_nothing(lake, versions):
    for number in range(versions):
        publish(lake, [Toy(str(number), "x", NOON)], SEEN)
    tables = DeltaTables(Store(lake.root))
    fewer = TOY.arrow_schema.remove(TOY.arrow_schema.get_field_index("text"))
    with pytest.raises(LakeError, match="has the column text, which its contract lacks"):
        tables.commit("toys", fewer, versions, [])
    assert tables.commit("toys", TOY.arrow_schema, versions, []) == versions


def test_a_column_added_by_another_engine_after_the_checkpoint_is_refused(lake):
    for number in range(19):
        publish(lake, [Toy(str(number), "x", NOON)], SEEN)
    delta = DeltaTable(str(lake.root / "tables/toys"))
    delta.alter.add_columns([Field("more", PrimitiveType("string"))])
    with pytest.raises(LakeError, match="has the column more, which its contract lacks"):
        DeltaTables(Store(lake.root)).commit("toys", TOY.arrow_schema, 20, [])


def test_publishing_past_a_checkpoint_does_not_list_the_delta_log(lake, monkeypatch):
    for number in range(22):
        publish(lake, [Toy(str(number), "x", NOON)], SEEN)
    monkeypatch.setattr(DeltaTables, "_open", lambda *_: pytest.fail("Delta lists the log"))
    publish(Lake(lake.root), [Toy("last", "x", NOON)], SEEN)
    assert len(rows(lake)) == 23


def test_delta_lake_reads_the_intended_statistics_and_history_of_a_commit(store, lake):
    publish(lake, [Toy("b", "x", NOON)], SEEN)
    lake.compact(TOY, before="2025-01")
    table = DeltaTable(str(lake.root / "tables/toys"))
    (reply,) = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    (file,) = lake.snapshot().files("toys")
    assert (reply["path"], reply["num_records"], reply["size_bytes"]) == (
        str(Path(file.path).relative_to(lake.root / "tables/toys")), 2, file.size)  # fmt: skip
    assert reply["min.available_at"] == reply["max.available_at"] == NOON
    compacted, published, *_ = table.history()
    assert (compacted["note"], compacted["operation"]) == ("compact", "WRITE")
    assert compacted["timestamp"] >= published["timestamp"]
    assert table.to_pyarrow_table().num_rows == 2
    log = lake.root / "tables/toys/_delta_log"
    last, before = (
        [json.loads(line) for line in (log / f"{version:020d}.json").read_text().splitlines()] for version in (3, 2)
    )
    assert [action["add"]["dataChange"] for action in before if "add" in action] == [True]
    changes = [change for action in last for kind, change in action.items() if kind in ("add", "remove")]
    assert [change["dataChange"] for change in changes] == [False] * 3
