"""Comparison of the lake after a soak with an undisturbed one: each window of each dataset is complete or absent.

Nothing runs on the soak's lake again before it is judged.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq

from assets.external import all_feeds
from assets.feeds.feed import Scope
from assets.feeds.runs import run_feed
from assets.graph import all_extractors
from local_servers.server import GraphServer
from pitlake import clock
from pitlake.contract import gap_table_name
from pitlake.datasets import all_datasets
from pitlake.lake.lake import Lake
from resources.graph.graph import Graph
from resources.http.capture import CaptureStore
from resources.http.client import HttpClient
from tests.partitions import run_partitions
from tests.soak.definitions import WINDOWS, window
from tests.toys import stored

MACRO = "macro_observations"
BY_THE_RUN = ("observed_at", "run_id")
Rows = Mapping[int, Counter[str]]


def undisturbed(root: Path, server: GraphServer) -> Lake:
    """Build a lake with every window of every dataset and the provider's series, each requested once."""
    lake = Lake(root)
    days = [day for number in range(WINDOWS) for day in _days(number)]
    with Graph(server.uri, server.reader_auth, server.database) as graph:
        for extractor in all_extractors().values():
            if extractor.dataset.partitioned:
                run_partitions(extractor, days, graph, lake, run_id="undisturbed")
    feed = all_feeds()[MACRO]
    with HttpClient(feed.provider, CaptureStore.of(lake.location), "refresh") as client:
        run_feed(feed, Scope(series=("GDP",)), client, lake, run_id="undisturbed")
    return lake


def compare(lake: Lake, other: Lake, done: Collection[int]) -> tuple[list[str], list[str]]:
    """Return lines about both lakes, and the problems. done: the windows for which every dataset's run succeeded."""
    problems, whole, absent, rows = [], 0, 0, 0
    names = [name for name, extractor in all_extractors().items() if extractor.dataset.partitioned]
    for name in names:
        for table in (name, gap_table_name(name)):
            result, due = _by_window(lake, table), _by_window(other, table)
            rows += sum(part.total() for part in result.values())
            for number in sorted(result.keys() | due.keys()):
                if result.get(number) == due.get(number):
                    whole += 1
                elif number not in result and number not in done:
                    absent += 1
                else:
                    more, less = _difference(result.get(number, Counter()), due.get(number, Counter()))
                    problems.append(f"{table}, window {number}: {more} rows too many, {less} missing")
    lines = [
        f"lake: {len(names)} datasets of the graph, {rows:,} rows and gaps",
        f"lake: {whole} windows of tables match an undisturbed lake's, {absent} never finished",
    ]
    result, due = _by_window(lake, MACRO), _by_window(other, MACRO)
    lines.append(f"lake: {MACRO} has {_total(result):,} rows, an undisturbed lake {_total(due):,}")
    if result != due:
        problems.append(f"{MACRO} differs from an undisturbed lake")
    return lines, problems


def inspect(lake: Lake, numbers: Path) -> tuple[list[str], list[str]]:
    """Return lines about the lake, and the problems: duplicate rows, versions that lost rows, leftovers, and a report
    with different counts.
    """
    problems = [f"{name} contains a row twice" for name in all_datasets() if _twice(lake, name)]
    problems += list(_lost(lake))
    left = [path.name for path in (lake.root / "_staging").iterdir()]
    problems += [f"a stage was left behind: {name}" for name in left]
    reply = {name: what["rows"] for name, what in json.loads(numbers.read_text())["datasets"].items()}
    content = {name: count for name in all_datasets() if (count := len(stored(lake, name)))}
    if {name: count for name, count in reply.items() if count} != content:
        problems.append("the report counts other rows than the lake holds")
    line = (
        f"lake: version {lake.head()}, {len(content)} datasets, {sum(content.values()):,} rows, {len(left)} stages left"
    )
    return [line], problems


def _lost(lake: Lake) -> Iterator[str]:
    """Yield problems of versions: fewer rows of a table than in the previous version, and missing or changed files."""
    versions = sorted(entry.version for entry in lake.versions())
    counts = [{table: sum(f.rows for f in state.files) for table, state in lake.snapshot(version).tables.items()}
              for version in versions]  # fmt: skip
    for (early, late), version in zip(pairwise(counts), versions[1:], strict=False):
        for table, count in early.items():
            if late.get(table, 0) < count:
                yield f"version {version} has {count - late.get(table, 0)} fewer rows of {table}"
    for version in versions:
        for table, state in lake.snapshot(version).tables.items():
            for file in state.files:
                if not Path(file.path).exists():
                    yield f"version {version} lacks a file of {table}"
    for state in lake.snapshot().tables.values():
        for file in state.files:
            if pq.ParquetFile(file.path).metadata.num_rows != file.rows:
                yield f"{file.path} does not hold {file.rows} rows"


def _by_window(lake: Lake, table: str) -> dict[int, Counter[str]]:
    """Return rows by the window of their day, as strings without the run's values; -1 has rows without a window."""
    result: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for row in stored(lake, table):
        day = row.get("partition") or clock.new_york_day(row["available_at"]).isoformat()
        # A gap may be dated by its run, and evidence names a capture.
        also = "available_at" if "gap_type" in row else "evidence" if table == MACRO else ""
        hidden = (*BY_THE_RUN, also)
        result[_number(day)][str(sorted((key, str(value)) for key, value in row.items() if key not in hidden))] += 1
    return dict(result)


def _number(day: str) -> int:
    try:
        since = (date.fromisoformat(day) - window(0)[0]).days // 10
    except ValueError:
        return -1
    return since if 0 <= since < WINDOWS else -1


def _difference(result: Counter[str], due: Counter[str]) -> tuple[int, int]:
    return (result - due).total(), (due - result).total()


def _total(rows: Rows) -> int:
    return sum(part.total() for part in rows.values())


def _twice(lake: Lake, name: str) -> bool:
    hidden = (*BY_THE_RUN, "evidence")
    rows = Counter(str([(k, str(v)) for k, v in row.items() if k not in hidden]) for row in stored(lake, name))
    return any(count > 1 for count in rows.values())


def _days(number: int) -> list[date]:
    first, last = window(number)
    return [first + timedelta(days=offset) for offset in range((last - first).days + 1)]
