"""The cost of the platform: a range of days and earnings releases as backfills of `make serve`, against a plain script.
Postgres, webserver and daemon run as in `make serve`, and the backfills are launched as in the user interface. The
commands that need no daemon (`make run`, `pitlake backfill earnings`) and `bench.plain` are timed from the start to the
end of their processes. All three ways must produce equal lakes.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from statistics import median
from typing import NamedTuple
from unittest.mock import patch

import dagster as dg
import psutil

from assets.derived import earnings_events
from assets.derived.earnings_bundles import Event, events
from assets.graph import all_extractors
from bench.extraction import sample_server
from bench.figures import Figure, figure
from bench.webserver import Backfill, backfill, wait_until_healthy
from local_servers.server import GraphServer
from pipelines.earnings import register
from pipelines.serve import ROOT, House, serving
from pitlake.lake.lake import Lake
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.tables.query import calculator, quoted, reading

FIRST = date(2023, 1, 1)
BY_DAY = tuple(name for name, extractor in all_extractors().items() if extractor.dataset.partitioned)
SELECTION = "group:graph and not key:companies"
BUNDLES = ("earnings_snapshots", "earnings_outcomes")
AIM_DAYS, AIM_RELEASES = "≤ 1.6", "≤ 1.5"
RUN_FACTS = ("observed_at",)
SPAWNED = "spawn_main"  # part of the command line of a run's process
FULL = {"rounds": 3}


@dataclass(frozen=True)
class Work:
    """Work done in three ways: a backfill's assets and partitions, the command, and the plain script's arguments."""

    name: str
    part: str
    aim: str
    assets: tuple[str, ...]
    partitions: tuple[str, ...]
    command: tuple[str, ...]
    plain: tuple[str, ...]


@dataclass
class Place:
    """The folder in which each way finds the lake, empty each time or a copy of the starting lake."""

    folder: Path
    base: Path | None = None
    lake: Path = field(init=False)

    def __post_init__(self) -> None:
        self.lake = self.folder / "lake"

    def begin(self) -> None:
        """Restore the starting lake, and delete the sessions' cached cuts."""
        for path in (self.lake, self.folder / "cache"):
            shutil.rmtree(path, ignore_errors=True)
        if self.base is not None:
            shutil.copytree(self.base, self.lake)

    def keep(self, name: str) -> Lake:
        """Move the finished lake away, replacing an earlier one of that name."""
        shutil.rmtree(self.folder / name, ignore_errors=True)
        return Lake(self.lake.rename(self.folder / name))


def run(scale: int = 10, days: int = 1000, releases: int = 500, rounds: int = 1) -> list[Figure]:
    """Both backfills. Raises RuntimeError if one fails or the lakes differ."""
    with tempfile.TemporaryDirectory(prefix="pitlake-bench-") as folder, sample_server(scale) as server:
        place = Place(Path(folder))
        place.folder.chmod(0o755)  # Postgres runs as another user
        with (
            (place.folder / "served.log").open("ab") as log,
            serving(place.folder / "home", _settings(server, place), log=log.fileno()) as house,
        ):
            wait_until_healthy(house.url)
            figures = [_load("before")]
            figures += _measured(_range(days), house, place, rounds)
            place.base = (place.folder / "plain").rename(place.folder / "base")
            chosen = _releases(Lake(place.base), house, releases)
            figures += _measured(_bundles(chosen), house, place, rounds)
            return [*figures, _load("after")]


def _settings(server: GraphServer, place: Place) -> dict[str, str]:
    user, password = server.reader_auth or ("", "")
    return {
        "PITLAKE_LAKE": str(place.lake),
        "PITLAKE_CACHE": str(place.folder / "cache"),
        "NEO4J_URI": server.uri,
        "NEO4J_USERNAME": user,
        "NEO4J_PASSWORD": password,
        "NEO4J_DATABASE": server.database,
    }


def _range(days: int) -> Work:
    keys = [(FIRST + timedelta(days=offset)).isoformat() for offset in range(days)]
    return Work(
        name=f"{days:,} days of {len(BY_DAY)} datasets",
        part="day and dataset",
        aim=AIM_DAYS,
        assets=BY_DAY,
        partitions=tuple(keys),
        command=("dg", "launch", "--assets", SELECTION, "--partition-range", f"{keys[0]}...{keys[-1]}"),
        plain=("days", keys[0], keys[-1]),
    )


def _releases(lake: Lake, house: House, least: int) -> list[Event]:
    """Register the releases of enough companies to have `least` of them as partitions in Dagster."""
    earnings_events.derive(lake, run_id="bench")
    chosen: list[Event] = []
    event_list = events(lake)
    for ticker in sorted({event.ticker for event in event_list}):
        if len(chosen) < least:
            chosen += [event for event in event_list if event.ticker == ticker]
    with patch.dict(os.environ, house.environment), dg.DagsterInstance.get() as instance:
        register(instance, event_list)
    return chosen


def _bundles(chosen: Sequence[Event]) -> Work:
    tickers = ",".join(sorted({event.ticker for event in chosen}))
    keys = tuple(dict.fromkeys(event.key for event in chosen))
    return Work(
        name=f"{len(keys):,} earnings releases",
        part="release and dataset",
        aim=AIM_RELEASES,
        assets=BUNDLES,
        partitions=keys,
        command=("pitlake", "backfill", "earnings", "--tickers", tickers),
        plain=("releases", tickers),
    )


class Spent(NamedTuple):
    """The wall and CPU seconds of one way."""

    wall: float
    cpu: float


def _measured(work: Work, house: House, place: Place, rounds: int) -> Iterator[Figure]:
    served: list[tuple[Backfill, float]] = []
    commands, plains = [], []
    program, *options = work.command
    what, *of = work.plain
    for number in range(rounds):
        print(f"{work.name}, round {number + 1} of {rounds} …", file=sys.stderr)
        place.begin()
        runs = Runs()
        served.append((backfill(house.url, work.assets, work.partitions, runs.look), runs.cpu))
        lakes = [place.keep("served")]
        commands.append(_process(house, place, Path(sys.executable).with_name(program), *options))
        lakes.append(place.keep("command"))
        plains.append(_process(house, place, sys.executable, "-m", "bench.plain", what, str(place.lake), *of))
        lakes.append(place.keep("plain"))
        for older_lake in lakes[:-1]:
            compare(older_lake, lakes[-1], work.assets)
    yield from _figures(work, served, commands, plains)


def _process(house: House, place: Place, *command: str | Path) -> Spent:
    """Measure a process over the lake from start to end, including its children."""
    place.begin()
    environment = os.environ | house.environment
    before, started = _ended(), time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[:3]} failed: {done.stderr[-2000:]}")
    return Spent(time.perf_counter() - started, _ended() - before)


def _ended() -> float:
    """Return the CPU seconds of finished child processes."""
    times = os.times()
    return times.children_user + times.children_system


class Runs:
    """Track the CPU seconds of the processes that code servers start for runs, including their children, as last
    observed.
    """

    def __init__(self) -> None:
        self._spent: dict[int, float] = {}

    @property
    def cpu(self) -> float:
        """Return the sum over all of them."""
        return sum(self._spent.values())

    def look(self) -> None:
        """Read them."""
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if any(SPAWNED in word for word in process.cmdline()):
                    tree = (process, *process.children(recursive=True))
                    self._spent[process.pid] = sum(sum(child.cpu_times()[:4]) for child in tree)


def _figures(
    work: Work, served: Sequence[tuple[Backfill, float]], commands: Sequence[Spent], plains: Sequence[Spent]
) -> Iterator[Figure]:
    runs = [Spent(backfill.published - backfill.created, cpu) for backfill, cpu in served]
    command = " ".join(work.command[:3]).split(" --")[0]
    for name, taken in (
        ("the backfill's run, from its creation to its end", runs),
        (f"{command}, the process", commands),
    ):
        for kind, unit, aim in (("wall", "s", ""), ("cpu", "s of CPU", work.aim)):
            ours, plain = ([getattr(spent, kind) for spent in way] for way in (taken, plains))
            ratio = median(a / b for a, b in zip(ours, plain, strict=True))
            against = f"plain script, {median(plain):.1f} {unit}"
            yield figure(f"{work.name}: {name}", median(ours), unit, baseline=against, ratio=ratio, aim=aim)
    backfills = [backfill for backfill, _ in served]
    yield figure(f"{work.name}: asked for to published", median(backfill.published for backfill in backfills), "s")
    yield figure(f"{work.name}: asked for to completed", median(backfill.seen for backfill in backfills), "s")
    yield figure(f"{work.name}: runs it took", max(backfill.runs for backfill in backfills), "runs")
    parts = len(work.partitions) * len(work.assets)
    cost = median(a.cpu - b.cpu for a, b in zip(runs, plains, strict=True))
    yield figure(f"Dagster's own cost per {work.part}", 1000 * cost / parts, "ms of CPU")


def compare(ours: Lake, theirs: Lake, tables: Sequence[str]) -> None:
    """Compare the lakes. Raises RuntimeError if the rows of a table differ in more than the columns about the run."""
    mine, other = ours.snapshot(), theirs.snapshot()
    for table in tables:
        if not mine.files(table) and not other.files(table):
            continue
        a, b = _rows(mine.files(table)), _rows(other.files(table))
        with calculator() as connection:
            question = (
                f"SELECT (SELECT count(*) FROM ({a} EXCEPT ALL {b})), (SELECT count(*) FROM ({b} EXCEPT ALL {a}))"
            )
            [[more, less]] = connection.sql(question).fetchall()
        if more or less:
            raise RuntimeError(f"{table}: {more} rows are not the plain script's, {less} of its rows are missing")


def _rows(files: Sequence[DataFile]) -> str:
    hidden = ", ".join(map(quoted, RUN_FACTS))
    return f"SELECT * EXCLUDE ({hidden}) FROM {reading(files)}"


def _load(when: str) -> Figure:
    return figure(f"load of the machine {when}", os.getloadavg()[0], f"of {os.cpu_count()} cores")
