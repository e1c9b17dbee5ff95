"""A small separate disk that does not need root: a tmpfs in a mount namespace of the user.

`python -m tests.faults.disk FOLDER floor|no-floor BYTES …` runs inside. It publishes once per amount of free space.
"""

import gc
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil

from pitlake import machine
from pitlake.errors import LakeError, PitlakeError
from pitlake.lake import Lake
from pitlake.lake.publishing.stage import STAGING, StagedGap
from tests.lake.world import Toy, gaps, publish, rows, utc

ROOT = Path(__file__).resolve().parents[2]
MOUNTED = 'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && exec "$@"'
NOON, SEEN = utc("2024-03-05T12:00:00-05:00"), utc("2024-05-06T12:00:00-04:00")
NEXT_MONTH = utc("2024-04-05T12:00:00-04:00")
LOOK = 4096  # the size of a run's poll, which is kept even if the run did not publish
FIRST = [Toy("a", "x", NOON), Toy("b", "x", NOON)]


def inside(folder: Path, size: str, *arguments: str, seconds: float = 300) -> Any:
    """Run `python -m MODULE FOLDER …` with a small disk at the folder, and return the JSON that it prints."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        "unshare",
        "-m" if os.geteuid() == 0 else "-rm",
        "sh",
        "-c",
        MOUNTED,
        "sh",
        size,
        str(folder),
        sys.executable,
        "-m",
        *arguments,
    ]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT, timeout=seconds)
    return json.loads(done.stdout)


def free(disk: Path) -> int:
    """Return the number of free bytes."""
    return shutil.disk_usage(disk).free


def leave(disk: Path, room: int) -> None:
    """Fill the disk except for this number of bytes."""
    filler = disk / "filler"
    filler.unlink(missing_ok=True)
    if (size := free(disk) - room) > 0:
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)


def second(run: int) -> list[Toy]:
    """Return rows of two months that cannot be compressed."""
    texts = [os.urandom(4000).hex() for _ in range(4)]
    return [
        Toy(f"{number}{run}", text, at)
        for number, (text, at) in enumerate(zip(texts, [NOON, NEXT_MONTH] * 2, strict=True))
    ]


def handles() -> int:
    """Return the number of open files: the lowest of several counts, because Arrow's threads close files late."""
    counts = []
    for _ in range(10):
        time.sleep(0.01)
        counts.append(psutil.Process().num_fds())
    return min(counts)


def attempt(lake: Lake, disk: Path, room: int, run: int) -> dict[str, Any]:
    """Publish once with this much free space. Return the outcome and the leftovers."""
    display, session = (lake.head(), rows(lake), gaps(lake)), handles()
    seen = SEEN + timedelta(days=run)
    leave(disk, room)
    before, reply, remaining = free(disk), "", None
    try:
        publish(lake, second(run), seen, {NOON.date(): [StagedGap("no_data", "no text", f"Toy:{run}")]})
    except LakeError as problem:
        reply, remaining = str(problem), problem
    except PitlakeError as problem:
        reply = f"OTHER {type(problem).__name__}: {problem}"
    except Exception as problem:  # noqa: BLE001 - any error is a result
        reply, remaining = f"RAW {type(problem).__name__}: {problem}", problem
    gc.collect()
    after = free(disk)
    (disk / "filler").unlink(missing_ok=True)
    gc.collect()
    staged = [path.name for path in (lake.root / STAGING).rglob("*")] if (lake.root / STAGING).exists() else []
    same = (lake.head(), rows(lake), gaps(lake)) == display
    del remaining
    return {
        "room": room,
        "told": reply,
        "lost": before - after,
        "staged": staged,
        "same": same,
        "handles": handles() - session,
        "version": lake.head(),
    }


def steps(disk: Path, rooms: Iterable[int]) -> list[dict[str, Any]]:
    """Attempt to publish with each amount of free space, and finally with enough."""
    lake = Lake(disk / "lake")
    publish(lake, FIRST, SEEN)
    return [attempt(lake, disk, room, number) for number, room in enumerate([*rooms, 8 << 20])]


if __name__ == "__main__":
    folder, floor, *rooms = sys.argv[1:]
    if floor == "no-floor":  # so that the disk fills up in the middle of a commit
        machine.LEAST_ROOM = 0
    print(json.dumps(steps(Path(folder), map(int, rooms))))
