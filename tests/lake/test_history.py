"""History blocks and few checkpoints keep the log small, and every version stays readable.

A block spans 4 commits here and a checkpoint 3, so that short logs have many of both.
"""

import random
import shutil
from datetime import timedelta
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from pitlake.errors import LakeError, LakeFault, VersionVacuumed
from pitlake.lake import Lake
from pitlake.lake.storage.files import write_file
from pitlake.lake.storage.store import Store
from pitlake.lake.tables import checkpoints, delta, history
from pitlake.lake.tables.delta import DeltaTables
from pitlake.lake.tables.history import History
from tests.every import every
from tests.lake.world import TOY, Toy, data_files, publish, rows, utc
from tests.processes import kill

NOON, SEEN = utc("2024-03-05T12:00:00-05:00"), utc("2024-06-01T12:00:00-04:00")
NONE = timedelta(0)
SMALL = (
    (history, "BLOCK", 4),
    (delta, "BLOCK", 4),
    (checkpoints, "INTERVAL", 3),
    (delta, "INTERVAL", 3),
    (delta, "CONFIGURATION", delta.CONFIGURATION | {"delta.checkpointInterval": "3"}),
)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for owner, name, value in SMALL:
        monkeypatch.setattr(owner, name, value)


def day(lake, number):
    at = NOON + timedelta(days=number)
    publish(lake, [Toy(f"{number}a", "x", at), Toy("changing", str(number), at)], at + timedelta(hours=1))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A function that copies a lake to a new location. `work` creates the lake on first use."""
    folder = tmp_path_factory.mktemp("made")

    def copied(lake, work, *inputs):
        remaining = folder / "-".join((work.__name__, *map(str, inputs)))
        if not remaining.exists():
            work(Lake(remaining), *inputs)
        shutil.copytree(remaining, lake.root, dirs_exist_ok=True)
        return lake

    return copied


def versions(lake, count):
    """Publish `count` days, with a compaction halfway."""
    for number in range(count):
        day(lake, number)
        if number == count // 2:
            lake.compact(TOY, before="2024-12")


@pytest.fixture
def grown(lake, made):
    return lambda count: made(lake, versions, count)


def log(lake):
    return lake.root / "tables" / "toys" / "_delta_log"


def blocks(lake):
    return sorted((log(lake).parent / history.FOLDER).glob("*.json"))


def points(lake):
    return sorted(int(path.name[:20]) for path in log(lake).glob("*.checkpoint.parquet"))


def told_by_delta(lake, version):
    """Return a version's files as the deltalake library lists them."""
    result = DeltaTable(str(log(lake).parent), version=lake.entry(version).tables["toys"])
    actions = pa.table(result.get_add_actions(flatten=True)).to_pylist()
    names = ("num_records", "size_bytes", "min.available_at", "max.available_at")
    root = log(lake).parent
    return {str(root / action["path"]): tuple(action[name] for name in names) for action in actions}


def told_by_lake(lake, version):
    return {file.path: (file.rows, file.size, file.lo, file.hi) for file in lake.snapshot(version).files("toys")}


def rows_by_version(lake):
    """Return the rows of each version that still has all of its files."""
    result = {}
    for version in range(lake.head() + 1):
        try:
            result[version] = rows(lake, version)
        except VersionVacuumed:
            continue
    return result


def test_every_version_has_the_files_that_delta_lake_lists(lake, grown):
    grown(14)
    fresh = Lake(lake.root)
    for version in range(1, fresh.head() + 1):
        assert told_by_lake(fresh, version) == told_by_delta(fresh, version)


def test_every_version_reads_the_same_with_and_without_history_blocks(lake, grown):
    grown(14)
    assert len(blocks(lake)) == (lake.entry().tables["toys"] + 1) // 4 == 4
    reply = rows_by_version(Lake(lake.root))
    for block in blocks(lake):
        block.unlink()
    assert rows_by_version(Lake(lake.root)) == reply


def test_an_old_version_is_read_from_history_blocks_and_not_from_commits(lake, grown, monkeypatch):
    grown(14)
    read, commit = [], History._commit
    monkeypatch.setattr(
        History, "_commit", lambda self, number: read.append((self._key, number)) or commit(self, number)
    )
    assert Lake(lake.root).snapshot(10).files("toys")
    assert [number for key, number in read if key == "tables/toys"] == []


def test_few_checkpoints_are_kept_and_the_newest_has_no_tombstones(lake, grown):
    grown(30)
    assert len(points(lake)) <= checkpoints.KEPT + 1  # plus the checkpoint of the compaction
    assert points(lake)[-1] > lake.entry().tables["toys"] - 3
    reply = pq.read_table(log(lake) / f"{points(lake)[-1]:020d}.checkpoint.parquet")
    assert reply["remove"].null_count == reply.num_rows


def test_compaction_writes_a_checkpoint_of_the_remaining_files(lake):
    for number in range(4):
        day(lake, number)
    lake.compact(TOY, before="2024-12")
    assert points(lake)[-1] == lake.entry().tables["toys"]
    assert [path.name[:20] for path in lake.root.glob("observed/toys/_delta_log/*.checkpoint.parquet")] == [f"{1:020d}"]
    reply = pq.read_table(log(lake) / f"{points(lake)[-1]:020d}.checkpoint.parquet")
    assert reply["add"].drop_null().length() == len(lake.snapshot().files("toys")) == 1
    assert reply["remove"].null_count == reply.num_rows


def test_checkpoint_fields_are_read_by_name_in_any_order(lake, grown):
    grown(10)
    newest = log(lake) / f"{points(lake)[-1]:020d}.checkpoint.parquet"
    reply, existing = pq.read_table(newest), checkpoints.Checkpoints(Store(lake.root), "tables/toys")
    before, add = existing.facts(points(lake)[-1]), reply["add"].combine_chunks()
    names = [field.name for field in reversed(add.type)]
    turned = pa.StructArray.from_arrays([add.field(name) for name in names], names, mask=add.is_null())
    pq.write_table(reply.set_column(reply.column_names.index("add"), "add", turned), newest)
    assert before
    assert add.null_count
    assert existing.facts(points(lake)[-1]) == before


def test_delta_lake_reads_every_version_from_checkpoints_without_tombstones(lake, grown):
    grown(14)
    assert told_by_delta(lake, lake.head()) == told_by_lake(lake, lake.head())
    for version in range(1, lake.head()):
        assert told_by_delta(lake, version)


@pytest.mark.parametrize("content", [b"{", b"[]", b"[[[],[]]]", b"[1, 2, 3, 4]"])
def test_the_error_for_a_damaged_history_block_names_its_file(lake, grown, content):
    grown(14)
    blocks(lake)[0].write_bytes(content)
    with pytest.raises(LakeFault, match=f"{history.FOLDER}/{0:020d}.json is damaged"):
        Lake(lake.root).snapshot(2).files("toys")
    assert Lake(lake.root).snapshot().files("toys")


@pytest.mark.parametrize("harm", ["gone", "cut off"])
def test_a_lost_or_truncated_checkpoint_does_not_stop_reading(lake, grown, harm):
    grown(10)
    result_rows = rows(lake)
    newest = log(lake) / f"{points(lake)[-1]:020d}.checkpoint.parquet"
    if harm == "gone":
        newest.unlink()
    else:
        newest.write_bytes(newest.read_bytes()[:100])
    fresh = Lake(lake.root)
    assert rows(fresh) == result_rows
    if harm == "gone":
        day(fresh, 40)
        assert len(rows(fresh)) == len(result_rows) + 2
        assert rows_by_version(Lake(lake.root)).keys() == set(range(fresh.head() + 1))


def test_a_writer_that_may_not_delete_or_overwrite_files_can_still_publish(lake, monkeypatch):
    def refused(*_):
        raise LakeError("not allowed")

    monkeypatch.setattr(Store, "delete", refused)
    monkeypatch.setattr(Store, "put", refused)
    versions(lake, 10)
    assert len(rows(lake)) == 20


def untended(lake, count):
    def all_checkpoints(tables, table, version, **_):
        if (version + 1) % 3 == 0:
            tables._open(table, version).create_checkpoint()

    with mock.patch.object(DeltaTables, "_maintain", all_checkpoints):
        versions(lake, count)


@pytest.fixture
def of_before(lake, made):
    """A lake as it was written before blocks existed, with all of its checkpoints."""
    made(lake, untended, 14)
    assert (len(points(lake)), blocks(lake)) == (5, [])
    return lake


def test_a_lake_in_the_old_format_reads_the_same_and_vacuum_tidies_its_log(of_before):
    lake = of_before
    reply = rows_by_version(Lake(lake.root))
    assert reply.keys() == set(range(lake.head() + 1))
    lake.vacuum(timedelta(days=1))
    assert (len(points(lake)), blocks(lake)) == (5, [])
    lake.vacuum(timedelta(days=1), dry_run=False)
    assert (points(lake), len(blocks(lake))) == ([8, 11, 14], 4)
    assert rows_by_version(Lake(lake.root)) == reply
    day(lake, 40)
    assert rows_by_version(Lake(lake.root)).items() >= reply.items()


def test_vacuum_writes_missing_history_blocks(lake):
    untended(lake, 5)
    assert blocks(lake) == []
    lake.vacuum(timedelta(days=1), dry_run=False)
    assert len(blocks(lake)) == 1


def test_publishing_to_a_lake_in_the_old_format_writes_missing_history_blocks(of_before):
    lake = of_before
    reply = rows_by_version(lake)
    for number in range(40, 44):
        day(lake, number)
    assert len(blocks(lake)) == (lake.entry().tables["toys"] + 1) // 4 == 5
    assert rows_by_version(Lake(lake.root)).items() >= reply.items()


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 20))])
def test_after_any_operations_each_version_reads_as_before_or_is_vacuumed(lake, seed):
    """Operations in random order: publishes, compactions, vacuums, receipts and unpinned Delta versions."""
    chance, remaining, due = random.Random(seed), {0}, {}
    for number in range(30):
        step = chance.choice(("day", "day", "day", "day", "compact", "vacuum", "receipt", "crashed"))
        assert step != "vacuum" or not due or rows_by_version(lake).items() >= due.items()
        if step == "day" or not due:
            day(lake, number)
        elif step == "compact":
            lake.compact(TOY, before=chance.choice(("2024-04", "2024-12")))
        elif step == "receipt" and due.keys() - remaining:
            version = chance.choice(sorted(due.keys() - remaining))
            lake.keep_receipt(b'{"question": {"version": %d}}' % version, version)
            remaining.add(version)
        elif step == "vacuum":
            gone = set(lake.vacuum(NONE, grace=NONE, dry_run=False).versions)
            assert not gone & (remaining | {lake.head()})
            due = {version: reply for version, reply in due.items() if version not in gone}
        elif step == "crashed":
            crashed(lake)
        due[lake.head()] = rows(lake)
        if chance.random() < 0.3:
            lake = Lake(lake.root)
    assert rows_by_version(lake).items() >= due.items()
    assert every(told_by_lake(lake, version) == told_by_delta(lake, version) for version in due if version)


def crashed(lake):
    """Commit a Delta version whose writer died before its log entry."""
    existing = lake.snapshot().files("toys")[0]
    orphan = write_file(Store(lake.root), "tables/toys", "2024-03", pq.read_table(existing.path, partitioning=None))
    DeltaTables(Store(lake.root)).commit("toys", TOY.arrow_schema, lake.entry().tables["toys"], [orphan])


def publishing(lake):
    """Publish versions that write a block and a checkpoint and remove an old checkpoint."""
    for owner, name, value in SMALL:
        setattr(owner, name, value)
    for number in range(20, 32):
        day(lake, number)


def vacuuming(lake):
    for owner, name, value in SMALL:
        setattr(owner, name, value)
    lake.compact(TOY, before="2024-12")
    lake.vacuum(NONE, grace=NONE, dry_run=False)


PLACES = {
    "a block": ("pitlake.lake.tables.history:History", "write", 1),
    "a checkpoint that is bared": ("pitlake.lake.storage.store:Store", "put", 1),
    "the oldest checkpoint": ("pitlake.lake.tables.checkpoints:Checkpoints", "tend", 2),
    "a checkpoint": ("pitlake.lake.tables.checkpoints:Checkpoints", "_bare", 2),
}
OF_VACUUM = {
    "a block": ("pitlake.lake.tables.history:History", "write", 1),
    "the marks": ("pitlake.lake.storage.log:LakeLog", "mark_vacuumed", 1),
    "the removal": ("pitlake.lake.storage.store:Store", "delete", 1),
    "the first file": ("pitlake.lake.upkeep.vacuum", "remove_stale", 1),
    **{f"file {number}": ("tests.lake.test_history:Unlinked", "unlink", number) for number in (2, 9, 14)},
}


class Unlinked:
    """A replacement for the removal of one file in a vacuum, where a test can kill the process."""

    @staticmethod
    def unlink(path):
        path.unlink(missing_ok=True)


def _delete(self, *keys):
    for key in keys:
        Unlinked.unlink(self.path(key))


def unlinking(lake):
    Store.delete = _delete
    vacuuming(lake)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", PLACES.values(), ids=PLACES)
def test_a_publish_killed_during_log_maintenance_leaves_every_version_readable(lake, grown, step, when):
    grown(9)
    if step[1] == "put":
        crashed(lake)  # undoing it leaves a tombstone in the next checkpoint
    reply = rows_by_version(lake)
    kill((*step, when), publishing, lake.root)
    assert rows_by_version(Lake(lake.root)).items() >= reply.items()
    publishing(Lake(lake.root))
    result = rows_by_version(Lake(lake.root))
    assert result.items() >= reply.items()
    assert every(
        told_by_lake(Lake(lake.root), version) == told_by_delta(lake, version) for version in result if version
    )


@pytest.mark.sampled(7)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", OF_VACUUM.values(), ids=OF_VACUUM)
def test_a_killed_vacuum_spares_protected_versions_and_a_second_vacuum_finishes(of_before, step, when):
    lake = of_before
    lake.keep_receipt(b'{"question": {"version": 5}}', 5)
    reply = rows_by_version(lake)
    kill((*step, when), unlinking if step[1] == "unlink" else vacuuming, lake.root)
    after = rows_by_version(Lake(lake.root))
    assert every(after[version] == reply[version] for version in after if version in reply)
    assert after[5] == reply[5]
    assert after[max(after)] == reply[max(reply)]
    vacuuming(Lake(lake.root))
    needed = {file.path for version in (5, lake.head()) for table in lake.snapshot(version).tables.values()
              for file in table.files}  # fmt: skip
    assert {str(path) for path in data_files(lake)} == needed
    assert (len(points(lake)) <= checkpoints.KEPT + 1, len(blocks(lake))) == (True, 4)
