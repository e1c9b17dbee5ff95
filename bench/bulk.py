"""`pitlake sync --all` over made bulk files: speed, memory, disk, and the same files again. A load that is killed
twice must have the same rows in the end.
"""

import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from bench.bulk_files import make
from bench.figures import Figure, figure
from pitlake.session import connect

FULL = {"companies": 8_000, "facts": 10_000_000}
CORES = 2
CONTENT = {
    "sec_facts": "cik, concept, unit, period_start, period_end, accession_no, value, available_at, release_rule",
    "sec_filings": "cik, accession_no, form_type, filing_date, accepted_at, available_at",
}


class Load(NamedTuple):
    """What a command took: seconds by the clock and of CPU, and MB of memory of all processes at its peak.

    own: the memory at its peak without mapped files.
    """

    seconds: float
    computed: float
    peak: float
    own: float


def load(lake: Path, paths: list[Path], kill_after: float | None = None) -> Load:
    """Run the command once. kill_after: the seconds after which its first process is killed."""
    command = [sys.executable, "-m", "pitlake", "sync", "--all", "--from", ",".join(map(str, paths))]
    return measure([*command, "--lake", str(lake)], lake.with_suffix(".log"), kill_after)


def measure(command: list[str], log: Path, kill_after: float | None = None) -> Load:
    """Run a command once. log: a file for what it prints."""
    started, before, peak, own = time.perf_counter(), os.times(), 0.0, 0.0
    with log.open("a") as said, subprocess.Popen(command, stdout=said, stderr=said) as running:
        while running.poll() is None:
            now = _megabytes(running.pid)
            peak, own = max(peak, now[0]), max(own, now[1])
            if kill_after is not None and time.perf_counter() - started > kill_after:
                running.kill()
            with suppress(subprocess.TimeoutExpired):
                running.wait(0.1)
    assert running.returncode == 0 or kill_after is not None, log.read_text()
    after = os.times()
    computed = after.children_user + after.children_system - before.children_user - before.children_system
    return Load(time.perf_counter() - started, computed, peak, own)


def _megabytes(pid: int) -> tuple[float, float]:
    """Return the memory of a process and its descendants, and how much of it is not of files. What processes share is
    divided among them.
    """
    total = own = 0
    with suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.NoSuchProcess, OSError):  # a process that has just ended
                total += process.memory_full_info().pss
                rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
                own += int(rollup.partition("Pss_Anon:")[2].split()[0]) << 10
    return total / 1e6, own / 1e6


def content(lake: Path) -> dict[str, tuple[int, int]]:
    """Return the number and a hash of the rows of facts and filings."""
    with connect(None, open_mode=True, lake=lake, isolation="in_process") as session:
        return {
            name: session.sql(f"SELECT count(*), sum(hash({columns})) FROM {name}_revisions").rows()[0]
            for name, columns in CONTENT.items()
        }


def run(companies: int = 200, facts: int = 200_000) -> list[Figure]:
    """Return the figures of a load. Speed is by CPU time on two cores, because other load changes that little."""
    with tempfile.TemporaryDirectory() as folder:
        paths, whole, killed = make(Path(folder), companies, facts), Path(folder) / "whole", Path(folder) / "killed"
        first, again = load(whole, paths), load(whole, paths)
        rows = content(whole)
        for part in (0.3, 0.4):
            load(killed, paths, kill_after=part * first.seconds)
        load(killed, paths)
        assert content(killed) == rows, (content(killed), rows)
        size = sum(file.stat().st_size for file in whole.rglob("*") if file.is_file())
    number = rows["sec_facts"][0]
    what, ratio = f"{number:,} facts of {companies:,} companies", again.computed / first.computed
    return [
        figure(what, number / first.computed * CORES, "/s", baseline=f"{first.seconds:.0f} s", aim="≥ 60000 facts"),
        figure("memory of all processes", first.peak, "MB", aim="≤ 2000 MB"),
        figure("disk per fact, captures included", size / number, "bytes", aim="≤ 60 bytes"),
        figure("the same files again", again.computed, "s", baseline="the first load", ratio=ratio, aim="≤ 0.02"),
    ]
