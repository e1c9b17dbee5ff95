"""A small sample of the campaign's full disks: a disk that fills up in steps, and files that may not grow."""

import resource
import subprocess
import sys

import pytest

from pitlake.errors import MachineExhausted
from pitlake.lake import Lake
from tests.faults import disk
from tests.lake.world import publish

FEW_BYTES = """
import resource, sys
from tests.faults import disk
lake = disk.Lake(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    disk.publish(lake, disk.second(0), disk.SEEN)
except disk.LakeError as problem:
    print(type(problem).__name__, problem)
"""


@pytest.mark.parametrize("floor", ["floor", "no-floor"])
def test_a_full_disk_is_reported_and_leaves_the_lake_unchanged(tmp_path, floor):
    rooms = [room << 10 for room in range(0, 100, 8)] if floor == "no-floor" else [0, 64 << 10, 960 << 10]
    small = tmp_path / "disk"
    result = disk.inside(small, "24m", "tests.faults.disk", str(small), floor, *map(str, rooms))
    failed = [each for each in result if each["told"]]
    assert len(failed) >= min(len(rooms), 10)
    assert not result[-1]["told"]
    for item in result:
        assert item["staged"] == []
        assert item["same"] == bool(item["told"])
    for item in failed:
        assert item["told"].startswith("No space left on device")
        assert f"({small}/lake" in item["told"]
        if floor == "floor":  # without a floor, a disk that is full to the byte has no room to undo a commit either
            assert item["lost"] <= disk.LOOK
    assert abs(sum(each["handles"] for each in result)) <= 2


@pytest.mark.parametrize("most", [0, 1 << 10, 16 << 10])
def test_a_file_size_limit_is_reported_and_leaves_the_lake_unchanged(tmp_path, most):
    lake = Lake(tmp_path / "lake")
    publish(lake, disk.FIRST, disk.SEEN)
    command = [sys.executable, "-c", FEW_BYTES, str(lake.root), str(most)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert output.startswith("MachineExhausted File too large: ")
    assert str(lake.root) in output
    assert (lake.head(), [path.name for path in (lake.root / "_staging").iterdir()]) == (1, [])


def test_a_low_open_files_limit_is_raised_or_reported(tmp_path, monkeypatch):
    inputs = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (64, 128) if kind == resource.RLIMIT_NOFILE else (-1, -1))
    monkeypatch.setattr(resource, "setrlimit", lambda *reply: inputs.append(reply))
    with pytest.raises(MachineExhausted, match=r"128 open files \(ulimit -n\)"):
        Lake(tmp_path).start()
    assert (inputs, [*tmp_path.iterdir()]) == ([], [])
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (64, 4096) if kind == resource.RLIMIT_NOFILE else (-1, -1))
    Lake(tmp_path).start()
    assert set(inputs) == {(resource.RLIMIT_NOFILE, (256, 4096))}


@pytest.mark.parametrize("most", [0, 512])
def test_captures_that_cannot_be_written_are_reported_and_leave_no_file(tmp_path, most):
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from pitlake.errors import LakeError; from resources.http.capture import CaptureStore\n"
        "store = CaptureStore(Path(sys.argv[1])); resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)\n"
        "try: store.keep_run('run', 'news', {'scope': 'x' * 1000})\n"
        "except LakeError as problem: print(problem)"
    )
    command = [sys.executable, "-c", code, str(tmp_path), str(most)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert output.startswith(f"File too large: the captures ({tmp_path})")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
