"""The gain of a second worker: the same backfill over Celery by one worker and by two, started as in
docs/deployment.md. Redis is the broker and Postgres stores Dagster's events; the source is the sample world on the
embedded server. All runs wait in the broker before a worker starts. Both ways must produce equal lakes.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import dagster as dg
import yaml

from bench.extraction import sample_server
from bench.figures import Figure, figure
from bench.platform import BY_DAY, FIRST, compare
from local_servers.server import GraphServer, free_port
from pipelines.serve import FAST_EVENTS, FEW_ARENAS, ROOT
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from resources.postgres import postgres

SETTINGS = ROOT / "deploy" / "celery" / "dagster.yaml"
# Without a queue no daemon is needed: runs wait in the broker.
DIRECT = {"module": "dagster._core.run_coordinator", "class": "DefaultRunCoordinator"}
WORKER = (
    "-A",
    "dagster_celery.app",
    "worker",
    "--concurrency",
    "1",
    "--max-tasks-per-child",
    "1",
    "--disable-prefetch",
)
FULL = {"scale": 10, "days": 1000, "runs": 8}
AIM = "≥ 1.7"
POLL_SECONDS = 0.2

Process = subprocess.Popen[bytes]


class Ran(NamedTuple):
    """The start and end of a run."""

    name: str
    start: float
    end: float


@dataclass(frozen=True)
class Worker:
    """The work of one worker: its runs, the seconds it was busy with them, and its CPU seconds including its start."""

    runs: int
    busy: float
    cpu: float


@dataclass(frozen=True)
class Done:
    """A backfill: the seconds from the first run's start to the last one's end, the work of each worker, and the
    lake.
    """

    wall: float
    workers: tuple[Worker, ...]
    lake: Lake


def run(scale: int = 1, days: int = 240, runs: int = 4) -> list[Figure]:
    """Compare one worker with two. Raises BadInput without a broker, and RuntimeError if a run fails or the lakes
    differ.
    """
    if shutil.which("redis-server") is None:
        raise BadInput("broker", "there is no redis-server", "install the package redis-server")
    with (
        tempfile.TemporaryDirectory(prefix="pitlake-bench-") as scratch,
        sample_server(scale) as server,
        _house(Path(scratch), server),
    ):
        one_worker, two = (_backfill(Path(scratch), count, days, runs) for count in (1, 2))
        compare(two.lake, one_worker.lake, BY_DAY)
        rows = sum(file.rows for name in BY_DAY for file in two.lake.snapshot().files(name))
        return list(
            _figures(one_worker, two, f"{days:,} days of {len(BY_DAY)} datasets ({rows:,} rows) in {runs} runs")
        )


@contextmanager
def _house(folder: Path, server: GraphServer) -> Iterator[None]:
    """Run the broker and Postgres, with the environment variables for them and the source."""
    folder.chmod(0o755)  # Postgres runs as another user
    user, password = server.reader_auth or ("", "")
    broker = f"redis://127.0.0.1:{(port := free_port())}/0"
    settings = yaml.safe_load(SETTINGS.read_text()) | {"run_coordinator": DIRECT}
    (folder / "dagster.yaml").write_text(yaml.safe_dump(settings))
    redis = ("redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder))
    with _running(redis, folder / "redis.log"), postgres(folder / "postgres") as database:
        environment = {**FAST_EVENTS, **FEW_ARENAS, **database.environment, "DAGSTER_HOME": str(folder)}
        environment |= {"CELERY_BROKER_URL": broker, "CELERY_RESULT_BACKEND": broker, "PYTHONPATH": str(ROOT)}
        environment |= {"NEO4J_URI": server.uri, "NEO4J_USERNAME": user, "NEO4J_PASSWORD": password}
        environment |= {"NEO4J_DATABASE": server.database}
        with patch.dict(os.environ, environment):
            subprocess.run([_program("dagster"), "instance", "migrate"], check=True, capture_output=True)
            yield


def _backfill(folder: Path, count: int, days: int, runs: int) -> Done:
    lake, logs = folder / f"lake-{count}", [folder / f"worker-{count}-{number}.log" for number in range(count)]
    print(f"{runs} runs by {count} of 2 workers …", file=sys.stderr)
    with (
        patch.dict(os.environ, {"PITLAKE_LAKE": str(lake)}),
        dg.DagsterInstance.get() as instance,
        ExitStack() as stack,
    ):
        before = {run.run_id for run in instance.get_runs()}
        _launch(days, runs)
        launched = [run.run_id for run in instance.get_runs() if run.run_id not in before]
        commands = [(_program("celery"), *WORKER, "-n", f"worker-{number}@%h") for number in range(count)]
        workers = [stack.enter_context(_running(*worker)) for worker in zip(commands, logs, strict=True)]
        done = _ended(instance, launched, workers)
        spent = [_stopped(worker) for worker in workers]
    return Done(
        max(run.end for run in done) - min(run.start for run in done),
        tuple(_share(done, *worker) for worker in zip(logs, spent, strict=True)),
        Lake(lake),
    )


def _launch(days: int, runs: int) -> None:
    """Submit ranges of equal length to the broker, one per run."""
    launch = (_program("dagster"), "job", "launch", "--workspace", "workspace.yaml", "--job", "graph_days", "--tags")
    edges = [FIRST + timedelta(days=days * number // runs) for number in range(runs + 1)]
    spans = [{"start": first, "end": end - timedelta(days=1)} for first, end in pairwise(edges)]
    tags = [{f"dagster/asset_partition_range_{name}": f"{day}" for name, day in span.items()} for span in spans]
    commands = [[*launch, json.dumps(tag)] for tag in tags]
    with ThreadPoolExecutor(runs) as pool:
        list(pool.map(partial(subprocess.run, cwd=ROOT, check=True, capture_output=True), commands))


def _ended(instance: dg.DagsterInstance, launched: Sequence[str], workers: Sequence[Process]) -> list[Ran]:
    """Wait until all runs have ended, and return them. Raises RuntimeError if one fails or a worker is gone."""
    while True:
        records = instance.get_run_records(dg.RunsFilter(run_ids=list(launched)))
        runs = [record.dagster_run for record in records]
        if all(run.is_finished for run in runs):
            break
        if any(worker.poll() is not None for worker in workers):
            raise RuntimeError("a worker ended before its runs; what they published does not count")
        time.sleep(POLL_SECONDS)
    if not all(run.is_success for run in runs):
        raise RuntimeError("a run failed; what the others published does not count")
    return [Ran(record.dagster_run.run_id, record.start_time or 0.0, record.end_time or 0.0) for record in records]


def _share(done: Sequence[Ran], log: Path, spent: float) -> Worker:
    """Return the work of a worker, from the runs in its log."""
    log_text = log.read_text()
    mine = [run for run in done if run.name in log_text]
    return Worker(len(mine), sum(run.end - run.start for run in mine), spent)


@contextmanager
def _running(command: Sequence[str], log: Path) -> Iterator[Process]:
    with log.open("wb") as output, subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output) as process:
        try:
            yield process
        finally:
            process.terminate()


def _stopped(worker: Process) -> float:
    """Stop it. Returns the CPU seconds of the worker and its children."""
    before = os.times()
    worker.terminate()
    worker.wait()
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def _program(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def _figures(one_worker: Done, two: Done, name: str) -> Iterator[Figure]:
    [alone] = one_worker.workers
    yield figure(f"{name}: one worker", one_worker.wall, "s")
    against = f"one worker, {one_worker.wall:.0f} s"
    yield figure(f"{name}: two workers", two.wall, "s", baseline=against, ratio=one_worker.wall / two.wall, aim=AIM)
    most = max(each.cpu for each in two.workers)
    against = f"one worker, {alone.cpu:.0f} s"
    yield figure("the busier of two workers", most, "s of CPU", baseline=against, ratio=alone.cpu / most, aim=AIM)
    for number, each in enumerate(two.workers, 1):
        yield figure(f"worker {number} of 2: {each.runs} runs, {each.cpu:.0f} s of CPU, busy for", each.busy, "s")
    yield figure("load of the machine", os.getloadavg()[0], f"of {os.cpu_count()} cores")
