"""The campaign's rounds. Each disturbs a lake in one way and reports its differences from an undisturbed lake.
A problem is one line that begins with its kind: lost, doubled, half-visible, stuck or untrue.
"""

import json
import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

from pitlake.errors import ClockWentBack, LakeError
from pitlake.lake import Lake
from tests.faults import disk as disks
from tests.faults import work
from tests.lake.test_writers import WRITER
from tests.lake.world import rows

ROOT = disks.ROOT
PLACES = (
    ("pitlake.lake.storage.store:Store", "put_new"),
    ("pitlake.lake.storage.store:Store", "keep"),
    ("pitlake.lake.storage.store:Store", "delete"),
    ("pitlake.lake.tables.delta:DeltaTables", "_swap"),
    ("pitlake.lake.tables.delta:DeltaTables", "commit"),
    ("pitlake.lake.storage.log:LakeLog", "append"),
    ("pitlake.lake.storage.log:LakeLog", "mark_vacuumed"),
    ("pitlake.lake.publishing.spill_file:SpillFile", "put"),
    ("pitlake.lake.storage.files", "write_parquet"),
)


class Pair:
    """A disturbed and an undisturbed lake on which the same work is done."""

    def __init__(self, home: Path, chance: random.Random) -> None:
        self.disturbed, self.undisturbed = str(home / "disturbed"), str(home / "undisturbed")
        self.number, self._chance = 0, chance
        for _ in range(3):
            self.number += 1
            for root in (self.disturbed, self.undisturbed):
                _well(work.run("day", root, self.number))

    def befall(self, name: str, kill: "tuple[object, ...] | float | None") -> tuple[bool, list[str]]:
        """Do the work with a kill, then again without. Return whether it was killed, and the problems."""
        self.number += 1
        before = work.shown(self.disturbed)
        _well(work.run(name, self.undisturbed, self.number))
        due = work.shown(self.undisturbed)
        code, _ = work.run(name, self.disturbed, self.number, kill=kill)
        between = work.shown(self.disturbed)
        problems = []
        if all(_content(between) != _content(each) for each in (before, due)):
            problems.append(f"half-visible: {name} killed at {kill}")
        _well(work.run(name, self.disturbed, self.number))
        after = work.shown(self.disturbed)
        if missing := Counter(map(str, due["rows"])) - Counter(map(str, after["rows"])):
            problems.append(f"lost: {missing.total()} rows, {name} killed at {kill}")
        if after["twice"]:
            problems.append(f"doubled: {after['twice']} rows, {name} killed at {kill}")
        if _content(after) != _content(due):
            problems.append(f"untrue: answers differ from the undisturbed lake's, {name} killed at {kill}")
        if after["staged"]:
            problems.append(f"stuck: {after['staged']} left in the staging, {name} killed at {kill}")
        return code == work.KILLED, problems


def kills(chance: random.Random, home: Path) -> tuple[Counter[str], list[str]]:
    """Kill publish, backfill, compaction, vacuum and receipts with -9, at a random time or around a call."""
    pair, counts, problems = Pair(home, chance), Counter[str](), []
    for name in chance.sample([*work.WORK, "vacuuming"], 4):
        at_time = chance.random() < 0.3
        place = ("pathlib:Path", "unlink") if name == "vacuuming" else chance.choice(PLACES)
        when = chance.choice(("before", "after"))
        kill = chance.uniform(0.02, 1.0) if at_time else (*place, chance.randint(1, 4), when)
        killed, wrong = pair.befall(name, kill)
        counts[f"{name} {'killed' if killed else 'not reached'}"] += 1
        problems += wrong
    return counts, problems


def full_disks(chance: random.Random, home: Path) -> tuple[Counter[str], list[str]]:
    """Publish onto a disk with 4 KB more room each time, from a random size on, with or without a floor."""
    floor, small = chance.choice(("floor", "no-floor")), home / "disk"
    first = chance.randrange(0, 100) if floor == "no-floor" else chance.randrange(200, 290)
    rooms = [str(4096 * step) for step in range(first, first + 8)]
    result, problems = disks.inside(small, "24m", "tests.faults.disk", str(small), floor, *rooms), []
    for item in result:
        where = f"{floor} with {item['room'] >> 10} KiB free"
        if item["staged"]:
            problems.append(f"stuck: {item['staged']} left in the staging, {where}")
        if item["same"] != bool(item["told"]):
            problems.append(f"untrue: {item['told'] or 'success'} and yet {item['same']}, {where}")
        if item["told"] and not item["told"].startswith("No space left on device"):
            problems.append(f"untrue: {item['told']}, {where}")
        if item["told"] and floor == "floor" and item["lost"] > disks.LOOK:
            problems.append(f"lost: {item['lost']} bytes of room, {where}")
    return Counter({"refused": sum(bool(each["told"]) for each in result), "published": len(result)}), problems


def writers(chance: random.Random, home: Path) -> tuple[Counter[str], list[str]]:
    """Run two writers and a compaction at the same time, and kill one of them."""
    lake = Lake(home / "lake")
    lake.start()
    tasks = [("own_and_common", "p"), ("own_and_common", "q"), ("compactions", "r")]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, lake.location, *task],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        for task in tasks
    ]
    for writer in started:
        assert writer.stdout.readline() == b"ready\n"
    for writer in started:
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    victim = chance.randrange(3)
    timer = threading.Timer(chance.uniform(0.1, 2.0), started[victim].kill)
    timer.start()
    for writer in started:
        try:
            writer.communicate(timeout=2 * work.STUCK_SECONDS)
        except subprocess.TimeoutExpired:
            writer.kill()
            return Counter(), ["stuck: a writer did not end"]
    timer.cancel()
    problems = [f"untrue: writer {name} failed" for (_, name), each in zip(tasks, started, strict=True)
                if each.returncode not in (0, work.KILLED)]  # fmt: skip
    keys = Counter(row.key for row in rows(lake))
    problems += [f"doubled: {key}" for key, count in keys.items() if count > 1]
    added = sum(entry.counts.get("published", 0) for entry in lake.versions())
    if added != keys.total():
        problems.append(f"untrue: the log tells of {added} rows, the lake shows {keys.total()}")
    for (task, name), item in zip(tasks, started, strict=True):
        due = {key for number in range(6) for key in (f"{number}{name}", f"{number} common")}
        if task == "own_and_common" and item.returncode == 0 and due - keys.keys():
            problems.append(f"lost: {len(due - keys.keys())} rows of writer {name}")
    return Counter({"races": 1, "killed": sum(each.returncode == work.KILLED for each in started)}), problems


def clocks(chance: random.Random, home: Path) -> tuple[Counter[str], list[str]]:
    """Run a writer whose clock is behind the newest commit; it waits for a few seconds, but refuses more."""
    pair = Pair(home, chance)
    seconds = chance.choice((0.5, 3.0, 60.0, 86_400.0))
    before = work.shown(pair.disturbed)
    _, reply = work.run("behind", pair.disturbed, pair.number + 1, seconds)
    after = work.shown(pair.disturbed)
    refused = isinstance(reply, ClockWentBack)
    problems = []
    if refused and _content(before) != _content(after):
        problems.append(f"untrue: refused, and yet something is published, {seconds} s behind")
    if refused != (seconds > 5) or (isinstance(reply, LakeError) and not refused):
        problems.append(f"untrue: {reply!r}, {seconds} s behind")
    return Counter({"refused" if refused else "published": 1}), problems


def limits(chance: random.Random, home: Path) -> tuple[Counter[str], list[str]]:
    """Run a command under a low `ulimit`; it succeeds, or fails with one sentence that gives the limit."""
    root = home / "lake"
    for number in range(3):
        _well(work.run("day", str(root), number))
    kind, most = chance.choice(
        [("-n", number) for number in (24, 64, 200, 256, 300)]
        + [("-v", size << 10) for size in (700, 1500, 3000, 5000)]
    )
    command = (
        f"ulimit {kind} {most}; exec {sys.executable} -c 'from pitlake.cli import main; main()' versions --lake {root}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)
    message = done.stderr.strip().splitlines()
    if done.returncode == 0:
        return Counter({"answered": 1}), []
    if len(message) == 1 and f"ulimit {kind}" in message[0]:
        return Counter({"told": 1}), []
    return Counter(), [f"untrue: ulimit {kind} {most} ends with {done.returncode} and {message[-1:]}"]


def _content(display: dict[str, object]) -> str:
    return json.dumps([display[name] for name in ("rows", "answers")], default=str) + str(
        sorted(str(gap).split("run_id")[0] for gap in display["gaps"])  # type: ignore[union-attr]
    )


def _well(ended: tuple[int, object]) -> object:
    code, reply = ended
    if code or isinstance(reply, Exception):
        raise RuntimeError(f"undisturbed work ended with {code}: {reply!r}")
    return reply
