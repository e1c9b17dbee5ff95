"""Every interface reports a denied path by name and as denied, never as lost and never with the raw error."""

import errno
import json
import os
import resource
import subprocess
import sys

import pytest

from pitlake.lake import Lake
from pitlake.lake.publishing.check_results import CheckReport
from pitlake.lake.publishing.stage import StagedGap
from pitlake.lake.storage import faults
from pitlake.lake.storage.incidents import Incident
from tests.every import every
from tests.lake import denied
from tests.lake.world import TOY, Toy, publish, utc

NOON = utc("2024-03-05T12:00:00-05:00")
CONVENTIONS = ["_lake/filings_count_from", "_lake/ends_at"]
# Drops root's capabilities that bypass permissions.
ORDINARY = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"] if os.geteuid() == 0 else []
PLACES = [
    ".", "_lake", "_lake/log", "_lake/log/*.json", "_lake/polls", "_lake/polls/toys", "_lake/polls/toys/*.json",
    "_lake/receipts", "_lake/receipts/*.json", "_lake/vacuums", "_lake/vacuums/*.json", "_lake/check_results",
    *CONVENTIONS, "_lake/check_results/toys", "_lake/check_results/toys/*.json",
    "_lake/incidents", "_lake/incidents/*.json",
    *(f"{table}{below}" for table in ("tables/toys", "gaps/toys", "superseded/toys")
      for below in ("", "/_delta_log", "/_delta_log/*.json")),
    "tables", "gaps", "superseded", "tables/toys/available_month=2024-03",
    "tables/toys/available_month=2024-03/*.parquet",
]  # fmt: skip


def build(root):
    lake = Lake(root)
    lake.count_filings_from("acceptance")
    lake.end_at(denied.LATER)
    gap = {None: [StagedGap("unverifiable", "no date", "Toy:lost", NOON)]}
    publish(lake, [Toy("0a", "x", NOON), Toy("1a", "x", NOON)], NOON, gap)
    publish(lake, [Toy("2a", "x", NOON), Toy("3a", "x", NOON)], NOON + denied.timedelta(days=1))
    lake.keep_receipt(b'{"question": {"version": 1}}', 1)
    for month in ("04", "05"):
        at = utc(f"2024-{month}-05T12:00:00-04:00")
        publish(lake, [Toy("0a", f"y{month}", NOON), Toy(f"{month}a", "x", at)], at)
    lake.compact(TOY, before="2024-05")
    publish(lake, [Toy("0a", "z", NOON)], utc("2024-05-06T12:00:00-04:00"))
    lake.vacuum(denied.timedelta(0), dry_run=False)
    lake.keep_check_report(CheckReport(dataset="toys", run_id="run", checked_at=NOON, version=1))
    lake.keep_incident(Incident(happened_at=NOON, run_id="run", job="job", kind="failed", reasons=()))
    return lake


@pytest.fixture(scope="module")
def attempts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("denied")
    build(folder / "lake")
    command = [*ORDINARY, sys.executable, "-m", "tests.lake.denied", str(folder / "lake"), str(folder / "copies")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_attempts_cover_every_path_and_every_interface(attempts, tmp_path):
    assert {*denied.READERS, *denied.WRITERS} == {name for name, _ in denied.doors(tmp_path)}
    missing = [place for place in PLACES if f"0 {place}" not in attempts]
    assert missing == []


@pytest.mark.parametrize("place", PLACES)
def test_every_interface_that_needs_an_unreadable_path_names_that_path(attempts, place):
    reply = {door: seen for door, seen in attempts[f"0 {place}"].items() if seen is not None}
    wrong = {door: seen for door, seen in reply.items() if door not in ("doctor", "command")
             and seen[:4] != ["LakeFault", "permission", "PLACE", 2]}  # fmt: skip
    assert wrong == {}
    assert "permission" in reply["doctor"][4]
    assert "PLACE" in reply["doctor"][4]
    assert len(reply) > 1 or place == "_lake/vacuums/*.json"  # whose name already says that it describes older versions
    assert not any(word in seen[4] for seen in reply.values() for word in ("restore", "missing", "damaged"))
    if "command" in reply:
        assert reply["command"][3] == 2


@pytest.mark.parametrize("place", [place for place in PLACES if "*" not in place and place not in CONVENTIONS])
def test_every_writer_names_a_folder_that_is_not_writable(attempts, place):
    reply = {door: seen for door, seen in attempts[f"500 {place}"].items() if seen is not None}
    wrong = {door: seen for door, seen in reply.items() if seen[:4] != ["LakeFault", "permission", "PLACE", 2]}
    assert wrong == {}
    assert not reply.keys() & set(denied.READERS)


@pytest.mark.parametrize("place", ["_lake/log", "tables/toys/_delta_log"])
def test_publishing_fails_where_a_required_folder_is_not_writable(attempts, place):
    assert attempts[f"500 {place}"]["publish"] is not None


LOST = {
    "a log entry": (f"_lake/log/{2:020d}.json", "_lake/log"),
    "a commit of Delta after its checkpoint": (f"tables/toys/_delta_log/{6:020d}.json", "tables/toys/_delta_log"),
    "a file of rows": (None, "tables/toys/available_month=2024-05"),
}


@pytest.mark.parametrize("key", LOST)
@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_a_missing_or_damaged_file_is_reported_as_such_with_its_folder(tmp_path, key, how):
    lake = build(tmp_path / "lake")
    name, folder = LOST[key]
    live = next(file.path for file in lake.snapshot().files("toys") if "2024-05" in file.path)
    path = lake.root / name if name else denied.Path(live)
    path.unlink() if how == "missing" else path.write_bytes(b"{")
    doors = dict(denied.doors(tmp_path / "lake"))
    reply = [reply for door in ("versions", "snapshot", "session") if (reply := denied.tried(doors[door]))]
    assert {each[:2] + each[3:4] for each in map(tuple, reply)} == {("LakeFault", how, 2)}
    assert every(folder in each[4] and "restore" in each[4] for each in reply)


@pytest.mark.parametrize("key", CONVENTIONS)
@pytest.mark.parametrize("content", [b"", b"\xff", b"soon\n"])
def test_a_damaged_convention_file_is_reported_as_damaged(tmp_path, key, content):
    lake = build(tmp_path / "lake")
    (lake.root / key).write_bytes(content)
    reply = denied.tried(dict(denied.doors(lake.root))["conventions"])
    assert reply[:4] == ["LakeFault", "damaged", str(lake.root / key), 2]


def test_running_out_of_file_descriptors_is_reported_as_machine_exhausted(tmp_path):
    root = build(tmp_path / "lake").root
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    reply = {}
    for name, door in denied.doors(root):
        taken = []
        try:
            highest = max(int(open_file.name) for open_file in denied.Path("/proc/self/fd").iterdir())
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(256, highest + 64), hard))
            try:
                while True:
                    taken.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                os.close(taken.pop())
            reply[name] = denied.tried(door)
        finally:
            for item in taken:
                os.close(item)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    wrong = {door: seen for door, seen in reply.items() if seen and seen[0] != "MachineExhausted"}
    assert {door: seen for door, seen in wrong.items() if door != "doctor"} == {}
    assert reply["session"]
    assert reply["publish"]


def test_a_read_only_file_system_is_not_reported_as_a_missing_permission(tmp_path):
    Lake(tmp_path / "lake").start()
    path = tmp_path / "lake" / "_lake"
    fault = faults.cause(OSError(errno.EROFS, os.strerror(errno.EROFS), str(path)), tmp_path / "lake")
    assert (fault.cause, fault.exit_code) == ("read_only", 2)
    assert "is on a read-only file system; nothing is lost" in str(fault)
