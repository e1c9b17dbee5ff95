"""kill -9 at every named step: the previous version stays readable, and a re-run ends as if nothing had happened."""

from datetime import timedelta

import pytest

from pitlake.lake import Lake
from pitlake.lake.publishing.stage import STAGING, StagedGap
from tests.lake.world import TOY, Toy, data_files, gaps, publish, rows, utc
from tests.processes import kill

NOON = utc("2024-03-05T12:00:00-05:00")
SEEN = utc("2024-03-06T12:00:00-05:00")
LATER = utc("2024-04-02T12:00:00-04:00")
FIRST = [Toy("a", "x", NOON), Toy("b", "x", NOON)]
SECOND = [Toy("a", "y", NOON), Toy("b", "x", NOON), Toy("c", "x", NOON)]

STEPS = {
    "while staging": ("pitlake.lake.publishing.spill_file:SpillFile", "put", 2, "before"),
    "before the gate": ("pitlake.lake.publishing.refusal", "refuse", 1, "before"),
    "after the gate": ("pitlake.lake.publishing.refusal", "refuse", 1, "after"),
    "before the index is kept": ("pitlake.lake.publishing.hash_index:LikelyFiles", "_save", 1, "before"),
    "between the index and its record": ("pitlake.lake.storage.signed_cache", "sign", 1, "before"),
    "after one index, before the next": ("pitlake.lake.publishing.hash_index:LikelyFiles", "_save", 1, "after"),
    "before an index that is not used goes": ("pitlake.lake.publishing.hash_index", "_remove", 1, "before"),
    "before a file is written": ("pitlake.lake.storage.files", "write_parquet", 1, "before"),
    "after a file is written, before it is forced to disk": ("pitlake.lake.storage.files", "write_parquet", 2, "after"),
    "after the files, before the Delta commit": ("pitlake.lake.tables.delta:DeltaTables", "_swap", 1, "before"),
    "between the Delta commit of rows and its proof": ("pitlake.lake.tables.delta:DeltaTables", "_swap", 1, "after"),
    "between the rows and the gaps": ("pitlake.lake.tables.delta:DeltaTables", "commit", 1, "after"),
    "in the middle of the gaps commit": ("pitlake.lake.tables.delta:DeltaTables", "_swap", 2, "before"),
    "between the Delta commit of gaps and its proof": ("pitlake.lake.tables.delta:DeltaTables", "_swap", 2, "after"),
    "between the Delta commits and the log entry": ("pitlake.lake.storage.log:LakeLog", "append", 1, "before"),
    "between the log entry's scratch and its name": ("pathlib:Path", "hardlink_to", 1, "before"),
}


def first_run(lake):
    publish(lake, FIRST, SEEN, {NOON.date(): [StagedGap("no_data", "no text", "Toy:m")]})


def second_run(lake):
    publish(lake, SECOND, LATER, {NOON.date(): [StagedGap("no_data", "no text", "Toy:n")]})


def compaction(lake):
    lake.compact(TOY, before="2025-01")


def rows_by_version(lake):
    return rows(lake), sorted(map(str, gaps(lake)))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    lake = Lake(tmp_path_factory.mktemp("undisturbed"))
    first_run(lake)
    second_run(lake)
    return rows_by_version(lake)


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_killed_run_leaves_the_old_version_and_a_rerun_converges(lake, undisturbed, step):
    first_run(lake)
    before = rows_by_version(lake)
    kill(step, second_run, lake.root)
    assert (Lake(lake.root).head(), rows_by_version(lake)) == (1, before)
    second_run(lake)
    assert (lake.head(), rows_by_version(lake)) == (2, undisturbed)
    assert list((lake.root / STAGING).iterdir()) == []
    second_run(lake)
    assert lake.head() == 2


def test_a_run_killed_right_after_writing_its_log_entry_counts_as_published(lake, undisturbed):
    first_run(lake)
    kill(("pitlake.lake.storage.log:LakeLog", "append", 1, "after"), second_run, lake.root)
    assert (lake.head(), rows_by_version(lake)) == (2, undisturbed)
    second_run(lake)
    assert lake.head() == 2


@pytest.mark.parametrize("name", ["_create", "_swap"])
def test_a_first_run_killed_while_creating_its_table_converges_on_rerun(lake, name):
    lake.start()
    kill(("pitlake.lake.tables.delta:DeltaTables", name, 1, "after"), first_run, lake.root)
    assert (lake.head(), dict(lake.snapshot().tables)) == (0, {})
    first_run(lake)
    assert len(rows(lake)) == 2


@pytest.mark.parametrize(
    "step",
    [
        ("pitlake.lake.tables.compacted", "write", 1, "after"),
        ("pitlake.lake.tables.compacted", "write", 2, "after"),
        ("pitlake.lake.tables.delta:DeltaTables", "_swap", 1, "after"),
        ("pitlake.lake.tables.delta:DeltaTables", "_swap", 2, "before"),
        ("pitlake.lake.tables.delta:DeltaTables", "_swap", 2, "after"),
        ("pitlake.lake.storage.log:LakeLog", "append", 1, "before"),
    ],
    ids=str,
)
def test_a_killed_compaction_changes_nothing_and_can_be_repeated(lake, undisturbed, step):
    first_run(lake)
    second_run(lake)
    kill(step, compaction, lake.root)
    assert (lake.head(), rows_by_version(lake)) == (2, undisturbed)
    second_run(lake)
    assert lake.head() == 2
    compaction(lake)
    assert (lake.head(), rows_by_version(lake)) == (3, undisturbed)


def test_vacuum_removes_exactly_the_files_a_killed_run_left_behind(lake, undisturbed):

    first_run(lake)
    kill(STEPS["between the Delta commits and the log entry"], second_run, lake.root)
    left = data_files(lake)
    second_run(lake)
    needed = {
        file.path for version in range(3) for files in lake.snapshot(version).tables.values() for file in files.files
    }
    report = lake.vacuum(timedelta(days=1), grace=timedelta(0), dry_run=False)
    assert len(report.leftovers) == len(left) - 2 > 0
    assert {str(path) for path in data_files(lake)} == needed
    assert rows_by_version(lake) == undisturbed
