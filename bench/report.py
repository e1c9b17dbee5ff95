"""The cost of the report: `pitlake report` of a big lake in a separate process, against counting keys by hand. By hand,
DuckDB counts the rows and distinct keys of each dataset, which must equal the report's numbers. An earlier run had
polled other days, so the report also searches for late arrivals.
"""

import json
import resource
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

from bench import biglake
from bench.figures import Figure, figure
from pitlake import clock
from pitlake.datasets import get
from pitlake.lake import Lake
from pitlake.lake.publishing.polls import Poll, write
from pitlake.lake.storage.store import Store
from pitlake.lake.tables.query import columns, reading
from pitlake.report.site import NUMBERS

DATASETS = ("xbrl_facts", "news", "prices")
FULL = {"facts": 2_000_000, "news": 500_000, "prices": 8_000_000}
BEFORE = Poll(clock.micros(datetime(2025, 12, 1, tzinfo=timezone.utc)), "before", (("1999-01-01", "1999-12-31"),))
REPORT = """
import sys
from pitlake.cli import invoke
code = invoke(["report", *sys.argv[1:]])
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
sys.exit(code)
"""
BY_HAND = """
import duckdb, json, sys
duckdb.sql("SET enable_progress_bar = false")
print(json.dumps({name: duckdb.sql(query).fetchall()[0] for name, query in json.load(sys.stdin).items()}))
"""


def run(facts: int = 400_000, news: int = 100_000, prices: int = 1_600_000) -> list[Figure]:
    """Return the CPU time and memory of a report on this many rows."""
    with tempfile.TemporaryDirectory(prefix="pitlake-bench-") as scratch:
        lake = biglake.build(Path(scratch) / "lake", facts=facts, news=news, prices=prices)
        for name in DATASETS:
            write(Store(lake.root), name, BEFORE)
        site = Path(scratch) / "site"
        seconds, printed = _measured(["-c", REPORT, "--lake", str(lake.location), "--output", str(site)])
        by_hand, output = _measured(["-c", BY_HAND], json.dumps({name: _counted(lake, name) for name in DATASETS}))
        dataset_numbers = json.loads((site / NUMBERS).read_text())["datasets"]
        assert {
            name: [dataset_numbers[name]["rows"], dataset_numbers[name]["keys"]] for name in DATASETS
        } == json.loads(output)
    rows = f"{(facts + news + prices) / 1e6:.1f} million rows"
    return [
        figure(
            f"report of {rows}",
            seconds,
            "s of CPU",
            baseline="keys by hand",
            ratio=seconds / by_hand,
            aim="≤ 4 s",
        ),
        figure(f"report of {rows}, most memory", int(printed.split()[-1]) / 1e3, "MB", aim="≤ 400"),
    ]


def _counted(lake: Lake, name: str) -> str:
    key = columns(get(name).key)
    return f"SELECT count(*), count(DISTINCT ({key})) FROM {reading(lake.snapshot().files(name))}"


def _measured(command: list[str], stdin: str = "") -> tuple[float, str]:
    """Return a process's CPU seconds and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run([sys.executable, *command], input=stdin, capture_output=True, check=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, output


if __name__ == "__main__":
    for line in run():
        print(line)
