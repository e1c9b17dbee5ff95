"""The stage: what can be staged, what is read back, and what happens when its process dies."""

import errno
import os
import subprocess
import sys
import time
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitlake.errors import BadInput, BadInstant, CheckFailed, MachineExhausted
from pitlake.lake import Lake
from pitlake.lake.publishing import hashing
from pitlake.lake.publishing.hashing import content_hashes
from pitlake.lake.publishing.spill_file import SpillFile
from pitlake.lake.publishing.stage import NAMELESS_GRACE_SECONDS, STAGING, StagedGap, remove_stale
from pitlake.lake.storage.parallel import workers
from pitlake.lake.storage.store import Store
from tests.lake.world import TOY, Toy, table, utc

DAY = date(2024, 3, 5)
NOON = utc("2024-03-05T12:00:00-05:00")


def staging(lake):
    return sorted(path.name for path in (lake.root / STAGING).rglob("*"))


def test_staged_rows_and_gaps_load_in_partition_order(lake):
    with lake.stage(TOY, "run") as stage:
        stage.add(date(2024, 3, 6), table([Toy("later", "x", NOON)]), extracted=1)
        stage.add(DAY, table([Toy("a", "x", NOON)]), [StagedGap("no_data", "no text", "Toy:b")], extracted=1)
        stage.add(DAY, table([Toy("c", "x", NOON)]), extracted=2)
        staged = stage.load()
        assert staged.partitions == ("2024-03-05", "2024-03-06")
        assert staged.rows["key"].to_pylist() == ["a", "c", "later"]
        assert staged.row_partition.tolist() == [0, 0, 1]
        assert staged.gaps["locator"].to_pylist() == ["Toy:b"]
        assert staged.extracted == {"2024-03-05": 3, "2024-03-06": 1}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=12), st.integers(1, 9), st.integers(1, 9))
def test_staged_rows_load_by_day_with_their_hashes_at_any_batch_size(pieces, at_once, hashed_at_once):
    days, number = {}, 0
    with (
        TemporaryDirectory() as folder,
        patch("pitlake.lake.publishing.stage.ROWS_AT_ONCE", at_once),
        patch("pitlake.lake.publishing.hashing.HASHED_ROWS", hashed_at_once),
        Lake(folder).stage(TOY, "run") as stage,
    ):
        for day, rows in pieces:
            reply = [Toy(f"{number + row}", f"{day}", NOON) for row in range(rows)]
            number += rows
            days.setdefault(day, []).extend(reply)
            stage.add(DAY + timedelta(days=day), table(reply), extracted=rows)
        staged = stage.load()
        due = [toy for day in sorted(days) for toy in days[day]]
        assert staged.rows["key"].to_pylist() == [toy.key for toy in due]
        assert staged.content_hash.to_pylist() == content_hashes(staged.rows, TOY.content_columns).to_pylist()
        names = [staged.partitions[place] for place in staged.row_partition]
        assert names == [str(DAY + timedelta(days=int(toy.text))) for toy in due]
        assert stage.load().rows.equals(staged.rows)


def test_many_days_of_a_single_row_load_as_a_single_chunk(lake):
    with lake.stage(TOY, "run") as stage:
        for day in range(40):
            stage.add(DAY + timedelta(days=day), table([Toy(f"{day}", "x", NOON)]), extracted=1)
        assert stage.load().rows["key"].num_chunks == 1


def test_no_more_rows_wait_in_memory_than_are_written_at_once(tmp_path):
    spilled = SpillFile(tmp_path, "rows", pa.schema([("n", pa.int64())]), 3)
    for number in range(7):
        spilled.put("a", pa.table({"n": [number]}))
    spilled.close()
    (output,) = tmp_path.iterdir()
    reader = pa.ipc.open_file(output)
    assert [reader.get_batch(place).num_rows for place in range(reader.num_record_batches)] == [3, 3]


@given(st.lists(st.lists(st.tuples(st.sampled_from(["x", "y", None]), st.integers(0, 1)), max_size=4), max_size=5))
def test_columns_with_a_constant_value_are_read_back_unchanged(pieces):
    schema = pa.schema([("n", pa.int64()), ("alike", pa.string()), ("m", pa.int64())])
    with TemporaryDirectory() as folder:
        spilled = SpillFile(Path(folder), "rows", schema, 3, ("alike", "of another dataset"))
        rows_of_days = [[], []]
        for piece in pieces:
            columns = [[value for value, _ in piece], [day for _, day in piece]]
            rows = pa.table([columns[1], *columns], schema=schema)
            for day in (0, 1):
                of_day = rows.filter(pc.equal(rows["m"], day))
                spilled.put(str(day), of_day)
                rows_of_days[day] += of_day.to_pylist()
        assert spilled.read(("0", "1"))[0].to_pylist() == [*rows_of_days[0], *rows_of_days[1]]


def test_a_constant_column_is_written_to_disk_once(tmp_path):
    spilled = SpillFile(tmp_path, "rows", pa.schema([("source", pa.string())]), alike=("source",))
    spilled.put("a", pa.table({"source": ["provider_metadata"] * 10_000}))
    assert spilled.read(("a",))[0]["source"].to_pylist() == ["provider_metadata"] * 10_000
    assert next(tmp_path.iterdir()).stat().st_size < 60_000


def test_few_tables_wait_in_memory_for_a_slow_hasher(monkeypatch):
    def hash_slowly(*_):
        time.sleep(0.01)
        return pa.chunked_array([[b"hash"]])

    monkeypatch.setattr(hashing, "HASHED_ROWS", 1)
    monkeypatch.setattr(hashing, "content_hashes", hash_slowly)
    hasher = hashing.Hasher(["n"])
    for number in range(40):
        hasher.put(pa.table({"n": [number]}))
        assert sum(not hashed.done() for hashed in hasher._done) <= hashing.MOST_WAITING + workers()
    assert len(hasher.read([(0, 40)])) == 40
    hasher.close()


def test_leaving_a_stage_removes_it_even_after_an_error(lake):
    with suppress(ZeroDivisionError), lake.stage(TOY, "run") as stage:
        stage.add(DAY, table([Toy("a", "x", NOON)]), extracted=1)
        raise ZeroDivisionError
    assert staging(lake) == []


def test_a_disk_full_at_creation_leaves_no_stage_or_descriptor_behind(lake, monkeypatch):
    def full(_handle, _content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    lake.start()
    session = psutil.Process().num_fds()
    monkeypatch.setattr("pitlake.lake.publishing.stage.os.write", full)
    with pytest.raises(MachineExhausted, match=r"No space left on device: the staging of the lake \(.*_staging\)"):
        lake.stage(TOY, "run")
    assert staging(lake) == []
    assert psutil.Process().num_fds() == session


def test_a_stage_whose_files_cannot_be_finished_is_removed_and_unlocked(lake, monkeypatch):
    session = psutil.Process().num_fds()
    finish = SpillFile.close

    def full(self):
        finish(self)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with lake.stage(TOY, "run") as stage:
        stage.add(DAY, table([Toy("a", "x", NOON)]), [StagedGap("no_data", "no text", "Toy:b")], extracted=2)
        monkeypatch.setattr(SpillFile, "close", full)
        with pytest.raises(MachineExhausted, match="the staging of the lake"):
            stage.load()
    assert staging(lake) == []
    assert psutil.Process().num_fds() == session


def test_closing_a_stage_empties_the_data_loaded_from_it(lake):
    with lake.stage(TOY, "run") as stage:
        stage.add(DAY, table([Toy("a", "x", NOON)]), extracted=1)
        staged = stage.load()
    assert (staged.rows.num_rows, staged.gaps.num_rows) == (0, 0)


def test_two_stages_of_the_same_run_are_separate(lake):
    with lake.stage(TOY, "run") as first, lake.stage(TOY, "run") as second:
        first.add(DAY, table([Toy("a", "x", NOON)]), extracted=1)
        assert second.load().rows.num_rows == 0


@pytest.mark.parametrize("run_id", ["", ".", "..", ".hidden", "a/b", "a\\b", "x" * 129, "a\nb"])
def test_a_run_id_that_is_not_a_valid_folder_name_is_refused(lake, run_id):
    with pytest.raises(BadInput, match="run_id"):
        lake.stage(TOY, run_id)


def test_rows_of_a_partitioned_dataset_need_a_day(lake):
    with lake.stage(TOY, "run") as stage, pytest.raises(BadInput, match="day"):
        stage.add(None, table([Toy("a", "x", NOON)]), extracted=1)


def test_a_naive_timestamp_column_is_refused_by_the_gate(lake):
    reply = table([Toy("a", "x", NOON)])
    naive = reply.set_column(
        reply.schema.get_field_index("available_at"), "available_at", reply["available_at"].cast(pa.timestamp("us"))
    )
    with lake.stage(TOY, "run") as stage, pytest.raises(CheckFailed) as refused:
        stage.add(DAY, naive, extracted=1)
    assert (refused.value.check, refused.value.facts) == ("gate", {"PIT_MISSING_TZ": 1})


def test_a_forbidden_column_is_refused_by_the_gate(lake):
    reply = table([Toy("a", "x", NOON)])
    with lake.stage(TOY, "run") as stage, pytest.raises(CheckFailed) as refused:
        stage.add(DAY, reply.append_column("Daily_Stock", pa.array([0.1])), extracted=1)
    assert (refused.value.check, refused.value.facts) == ("gate", {"PIT_FORBIDDEN_FIELD": 1})


@pytest.mark.parametrize(
    "change",
    [
        lambda reply: reply.drop_columns("text"),
        lambda reply: reply.append_column("more", pa.array(["x"])),
        lambda reply: reply.set_column(2, "text", pa.array([1])),
        lambda reply: reply.select(reply.column_names[::-1]),
    ],
    ids=["missing", "more", "other type", "other order"],
)
def test_columns_that_differ_from_the_contract_are_refused(lake, change):
    with lake.stage(TOY, "run") as stage, pytest.raises(CheckFailed) as refused:
        stage.add(DAY, change(table([Toy("a", "x", NOON)])), extracted=1)
    assert refused.value.check == "schema"


def test_a_gap_with_a_naive_instant_is_refused(lake):
    with lake.stage(TOY, "run") as stage, pytest.raises(BadInstant, match="no time zone"):
        stage.add(DAY, gaps=[StagedGap("no_data", "no text", "Toy:a", NOON.replace(tzinfo=None))], extracted=1)


def test_only_the_stages_of_dead_processes_are_removed(lake):
    code = (
        "import os, sys; from pitlake.lake import Lake; from tests.lake.world import TOY\n"
        "stage = Lake(sys.argv[1]).stage(TOY, 'other'); print('staged', flush=True); sys.stdin.read(); os._exit(0)"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(lake.root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout.readline() == "staged\n"
    assert remove_stale(Store(lake.root)) == []
    other.communicate()
    assert [key.startswith(f"{STAGING}/other/toys.") for key in remove_stale(Store(lake.root))] == [True]
    assert staging(lake) == []


def test_a_stage_folder_not_yet_named_is_removed_only_when_old(lake):
    nameless = lake.root / STAGING / "run" / ".abc"
    nameless.mkdir(parents=True)
    assert remove_stale(Store(lake.root)) == []
    past = time.time() - NAMELESS_GRACE_SECONDS - 1
    os.utime(nameless, (past, past))
    assert remove_stale(Store(lake.root)) == [f"{STAGING}/run/.abc"]


def test_a_half_removed_stage_is_removed_without_leaking_descriptors(lake):
    (lake.root / STAGING / "run" / "toys.abc").mkdir(parents=True)
    before = psutil.Process().num_fds()
    assert remove_stale(Store(lake.root)) == [f"{STAGING}/run/toys.abc"]
    assert psutil.Process().num_fds() == before
