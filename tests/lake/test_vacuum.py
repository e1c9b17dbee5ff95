"""Vacuum removes files that no kept version needs and no others, and a vacuumed version says that it was vacuumed."""

import json
import os
import time
from datetime import timedelta

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from pitlake import clock
from pitlake.errors import LakeFault, LakeNotFound, VersionVacuumed
from pitlake.lake import Lake
from pitlake.lake.storage.files import write_file
from pitlake.lake.storage.log import VACUUMS, LakeLog
from pitlake.lake.storage.store import Store
from pitlake.lake.tables.delta import DeltaTables
from tests.lake.world import TOY, Toy, data_files, publish, rows, utc

NOON = utc("2024-03-05T12:00:00-05:00")
NONE = timedelta(0)


@pytest.fixture
def compacted(lake):
    """A lake whose versions 1 to 3 add one file each, and whose version 4 has one merged file."""
    for day in range(3):
        at = NOON + timedelta(days=day)
        publish(lake, [Toy(f"{day}a", "x", at)], at + timedelta(hours=1))
    lake.compact(TOY, before="2024-04")
    return lake


def leave_behind(lake, age):
    path = lake.root / "tables" / "toys" / "available_month=2024-03" / "left.parquet"
    path.write_bytes(b"half a file")
    past = time.time() - age.total_seconds()
    os.utime(path, (past, past))
    return path


def test_a_dry_run_is_the_default_and_removes_nothing(compacted):
    before = data_files(compacted)
    report = compacted.vacuum(NONE)
    assert (report.dry_run, len(report.files), report.versions) == (True, 3, (1, 2, 3))
    assert data_files(compacted) == before
    assert rows(compacted, 1)


def test_vacuum_removes_files_that_only_old_versions_need(compacted):
    before = rows(compacted)
    report = compacted.vacuum(NONE, dry_run=False)
    assert len(data_files(compacted)) == 2  # the rows and their observation times
    assert rows(compacted) == before
    assert report.bytes > 0


def test_the_error_for_a_vacuumed_version_names_tables_but_no_file_counts(compacted):
    compacted.vacuum(NONE, dry_run=False)
    with pytest.raises(VersionVacuumed, match=r"version 2 was vacuumed .*\(missing files of toys\); ask a newer one$"):
        compacted.snapshot(2)
    assert compacted.snapshot(0).files("toys") == ()


def test_versions_within_the_retention_period_are_kept(compacted):
    assert compacted.vacuum(timedelta(days=1), dry_run=False).files == ()
    assert [len(rows(compacted, version)) for version in range(1, 5)] == [1, 2, 3, 3]


def test_an_old_version_that_was_newest_within_the_retention_period_is_kept(lake, monkeypatch):
    for day in range(2):
        at = NOON + timedelta(days=day)
        publish(lake, [Toy(f"{day}a", "x", at)], at)
    later = clock.now() + timedelta(days=10)
    monkeypatch.setattr("pitlake.clock.now", lambda: later)
    lake.compact(TOY, before="2024-04")
    assert lake.vacuum(timedelta(days=1), dry_run=False).files == ()
    assert len(rows(lake, 2)) == 2


def test_versions_listed_in_keep_versions_are_kept(compacted):
    expected = rows(compacted, 2)
    report = compacted.vacuum(NONE, keep_versions=[2], dry_run=False)
    assert (report.versions, len(report.files)) == ((3,), 1)
    assert rows(compacted, 2) == expected
    assert rows(compacted, 1) == expected[:1]


def test_vacuum_removes_exactly_the_files_that_no_retained_version_shows(compacted):
    at = NOON + timedelta(days=40)
    publish(compacted, [Toy("4a", "x", at)], at)
    compacted.compact(TOY, before="2024-06")
    shows = {
        version: {file.path for state in compacted.snapshot(version).tables.values() for file in state.files}
        for version in range(compacted.entry().version + 1)
    }
    newest = shows[max(shows)]
    for remaining, display in shows.items():
        gone = set().union(*shows.values()) - newest - display
        report = compacted.vacuum(NONE, keep_versions=[remaining])
        assert {str(compacted.root / key) for key in report.files} == gone
        assert report.versions == tuple(version for version in shows if shows[version] & gone)


def test_vacuum_loads_only_the_newest_state_of_each_table(compacted, monkeypatch):
    loaded, load = [], DeltaTables._load
    monkeypatch.setattr(DeltaTables, "_load", lambda *of: loaded.append(of[1:]) or load(*of))
    Lake(compacted.root).vacuum(NONE)
    assert sorted(table for table, _ in loaded) == sorted(compacted.entry().tables)


def test_a_vacuum_of_a_table_that_lacks_a_commit_removes_nothing(compacted):
    commit = compacted.root / "tables" / "toys" / "_delta_log" / f"{1:020d}.json"
    DeltaTable(commit.parents[1]).create_checkpoint()  # lets Delta skip version 1
    commit.unlink()
    before = data_files(compacted)
    with pytest.raises(LakeFault, match=commit.name):
        Lake(compacted.root).vacuum(NONE, dry_run=False)
    assert data_files(compacted) == before


def test_a_vacuum_of_a_lake_that_lacks_a_table_removes_nothing(compacted):
    log = compacted.root / "superseded" / "toys" / "_delta_log"
    log.rename(log.with_name("elsewhere"))
    before = data_files(compacted)
    with pytest.raises(LakeFault, match="_delta_log"):
        Lake(compacted.root).vacuum(NONE, dry_run=False)
    assert data_files(compacted) == before


def test_vacuum_removes_nothing_when_a_table_has_an_altered_commit(compacted):
    commit = compacted.root / "tables" / "toys" / "_delta_log" / f"{4:020d}.json"
    commit.write_text("\n".join(line for line in commit.read_text().splitlines() if '"add"' not in line))
    before = data_files(compacted)
    with pytest.raises(LakeFault, match="_delta_log"):
        compacted.vacuum(NONE, dry_run=False)
    assert data_files(compacted) == before


def test_keeping_a_version_that_never_existed_is_an_error(compacted):
    with pytest.raises(LakeNotFound):
        compacted.vacuum(NONE, keep_versions=[99])


def test_a_leftover_file_is_removed_once_older_than_the_grace_period(compacted):
    young = leave_behind(compacted, timedelta(hours=1))
    assert compacted.vacuum(timedelta(days=1), dry_run=False).leftovers == ()
    assert young.exists()
    old = leave_behind(compacted, timedelta(days=2))
    report = compacted.vacuum(timedelta(days=1), dry_run=False)
    assert report.leftovers == ("tables/toys/available_month=2024-03/left.parquet",)
    assert not old.exists()


def test_files_of_the_delta_log_are_never_removed_as_leftovers(compacted):
    sidecar = compacted.root / "tables" / "toys" / "_delta_log" / "_sidecars" / "a.parquet"
    sidecar.parent.mkdir()
    leave_behind(compacted, timedelta(days=3)).rename(sidecar)
    assert compacted.vacuum(NONE, dry_run=False).leftovers == ()
    assert sidecar.exists()


def test_vacuuming_twice_finds_nothing_more(compacted):
    compacted.vacuum(NONE, dry_run=False)
    again = compacted.vacuum(NONE, dry_run=False)
    assert (again.files, again.leftovers, again.bytes) == ((), (), 0)


def test_a_vacuum_cut_short_after_its_marks_loses_nothing(compacted, monkeypatch):
    monkeypatch.setattr("pitlake.lake.storage.store.Store.delete", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        compacted.vacuum(NONE, dry_run=False)
    assert [len(rows(compacted, version)) for version in range(1, 5)] == [1, 2, 3, 3]


def test_publishing_goes_on_after_a_vacuum(compacted):
    compacted.vacuum(NONE, dry_run=False)
    at = NOON + timedelta(days=9)
    publish(compacted, [Toy("9a", "x", at)], at)
    assert len(rows(compacted)) == 4


def test_files_of_an_unpinned_delta_version_stay_until_that_version_is_undone(compacted):
    store = Store(compacted.root)
    (existing,) = compacted.snapshot().files("toys")
    orphan = write_file(store, "tables/toys", "2024-03", pq.read_table(existing.path, partitioning=None))
    DeltaTables(store).commit("toys", TOY.arrow_schema, compacted.entry().tables["toys"], [orphan])
    assert compacted.vacuum(NONE, grace=NONE, dry_run=False).leftovers == ()
    at = NOON + timedelta(days=9)
    publish(compacted, [Toy("9a", "x", at)], at)
    assert compacted.vacuum(NONE, grace=NONE, dry_run=False).leftovers == (f"tables/toys/{orphan.name}",)
    assert len(rows(compacted)) == 4


def test_vacuumed_versions_are_marked_as_ranges_in_a_single_file(compacted):
    compacted.vacuum(NONE, keep_versions=[2], dry_run=False)
    (marks,) = (compacted.root / VACUUMS).iterdir()
    assert json.loads(marks.read_text()) == [[3, 3]]
    log = LakeLog(Store(compacted.root))
    log.mark_vacuumed([0, 1, 2, 7, 9, 10])
    assert [version for version in range(12) if log.is_vacuumed(version)] == [0, 1, 2, 3, 7, 9, 10]


def test_no_marks_are_read_for_a_version_newer_than_all_marks(compacted, monkeypatch):
    compacted.vacuum(NONE, dry_run=False)
    monkeypatch.setattr(LakeLog, "_runs", None)
    assert not LakeLog(Store(compacted.root)).is_vacuumed(4)


@pytest.mark.parametrize("content", ["", "{", "[1]", "3"])
def test_the_error_for_damaged_vacuum_marks_names_their_file(compacted, content):
    compacted.vacuum(NONE, dry_run=False)
    (marks,) = (compacted.root / VACUUMS).iterdir()
    marks.write_text(content)
    with pytest.raises(LakeFault, match=f"{marks.name} is damaged"):
        compacted.snapshot(1)


def test_a_vacuum_of_a_table_that_lacks_a_pinned_version_removes_nothing(compacted):
    (compacted.root / "tables" / "toys" / "_delta_log" / f"{4:020d}.json").unlink()
    for checkpoint in (compacted.root / "tables" / "toys" / "_delta_log").glob("*checkpoint*"):
        checkpoint.unlink()
    before = data_files(compacted)
    with pytest.raises(LakeFault, match="_delta_log"):
        Lake(compacted.root).vacuum(NONE, dry_run=False)
    assert data_files(compacted) == before


def test_vacuum_versions_removes_the_files_that_no_other_version_needs(compacted):
    before = rows(compacted)
    report = compacted.vacuum_versions([2, 3, 4])
    assert report.versions == (2, 3)
    assert len(rows(compacted, 1)) == 1
    assert rows(compacted) == before
    for version in (2, 3):
        with pytest.raises(VersionVacuumed):
            compacted.snapshot(version)


def test_vacuum_versions_keeps_a_version_that_a_receipt_names(compacted):
    compacted.keep_receipt(json.dumps({"question": {"version": 2}}).encode(), 2)
    assert compacted.vacuum_versions([1, 2, 3]).versions == (3,)
    assert len(rows(compacted, 2)) == 2


def test_vacuum_versions_leaves_leftover_files_alone(compacted):
    left = leave_behind(compacted, timedelta(days=400))
    compacted.vacuum_versions([1, 2, 3])
    assert left.exists()
