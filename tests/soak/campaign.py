"""`python -m tests.soak.campaign --minutes 30`: Postgres, webserver, daemon and schedules for a while, faults included.

The graph goes away, the provider answers 429, the staging disk is full, the daemon is killed. Afterwards every fault
must show in the UI and as an alert, the lake must hold what an undisturbed one does, and memory must not have grown.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from assets.graph import all_extractors
from assets.runs import run_partitions
from bench.extraction import sample_server
from pipelines.serve import FAST_EVENTS, ROOT, SETTINGS
from pitlake.datasets import all_datasets
from pitlake.lake.lake import Lake
from resources.graph.graph import Graph
from resources.graph.server import GraphServer, free_port
from resources.postgres import postgres
from tests.providers.server import Ask, Loopback, Reply
from tests.soak.definitions import WINDOWS, window
from tests.soak.world import Proxy, Webhook, empty, fill, small_disk
from tests.toys import seen

WORKSPACE = (
    "load_from:\n  - python_module:\n      module_name: tests.soak.definitions\n      working_directory: {root}\n"
)
RUNS = """{runsOrError(limit: 1000){... on Runs {results{id jobName status startTime
  }}}}"""
ENDED = ("SUCCESS", "FAILURE", "CANCELED")
REFUSED = Reply(429, b'{"error_code": 429, "error_message": "Too many requests"}', {"retry-after": "1"})


@dataclass
class House:
    """The processes of the soak and what was seen of them."""

    environment: dict[str, str]
    workspace: Path
    port: int
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    memory: list[tuple[float, int]] = field(default_factory=list)

    def start(self, name: str) -> None:
        program = str(Path(sys.executable).with_name(f"dagster-{name}"))
        options = {"webserver": ["--host", "127.0.0.1", "--port", str(self.port)], "daemon": ["run"]}[name]
        log = (self.workspace.parent / f"{name}.log").open("ab")
        command = [program, *options, "--workspace", str(self.workspace)]
        self.processes[name] = subprocess.Popen(command, env=self.environment, cwd=ROOT, stdout=log, stderr=log)

    def kill(self, name: str) -> None:
        """kill -9, code server and all."""
        with contextlib.suppress(psutil.NoSuchProcess):
            parent = psutil.Process(self.processes[name].pid)
            for process in [*parent.children(recursive=True), parent]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        self.processes[name].wait()

    def stop(self, name: str) -> None:
        """Ask it to end; its code server first lets running runs end."""
        self.processes[name].send_signal(signal.SIGTERM)
        self.processes[name].wait()

    def measure(self, since: float) -> None:
        total = 0
        for process in self.processes.values():
            with contextlib.suppress(psutil.Error):
                tree = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
                total += sum(one.memory_info().rss for one in tree if "run" not in one.name() and not _is_run(one))
        self.memory.append((time.monotonic() - since, total))

    def ask(self, query: str) -> dict[str, object]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/graphql",
            json.dumps({"query": query}).encode(),
            {"content-type": "application/json"},
        )
        return json.load(urllib.request.urlopen(request, timeout=60))["data"]

    def runs(self) -> list[dict[str, str]]:
        return self.ask(RUNS)["runsOrError"]["results"]


def _is_run(process: psutil.Process) -> bool:
    """Whether this process executes a run, which comes and goes."""
    return any(word in ("execute_run", "execute_step") for word in process.cmdline())


def soak(home: Path, minutes: float) -> int:
    """Run it. Returns the exit code."""
    with contextlib.ExitStack() as running:
        server = running.enter_context(sample_server())
        provider = running.enter_context(Loopback())
        database = running.enter_context(postgres(home / "postgres"))
        disk = home / "lake" / "_staging"
        has_disk = running.enter_context(small_disk(disk))
        proxy, webhook = Proxy(urlsplit(server.uri).port), Webhook()
        house = _house(home, server, proxy, provider, database.environment, webhook)
        running.callback(lambda: [house.kill(name) for name in house.processes])
        house.start("webserver")
        _until(lambda: house.ask("{version}"), 120)
        house.start("daemon")
        said_of = _disturb(house, minutes * 60, proxy, provider, disk if has_disk else None)
        (home / "stop").touch()
        _until(lambda: not [run for run in house.runs() if run["status"] not in ENDED], 900)
        runs = house.runs()
        house.stop("daemon")
        return _judge(house, runs, webhook, said_of, Lake(home / "lake"), server, home)


def _house(
    home: Path, server: GraphServer, proxy: Proxy, provider: Loopback, database: dict[str, str], webhook: Webhook
) -> House:
    (home / "workspace.yaml").write_text(WORKSPACE.format(root=ROOT))
    (home / "dagster").mkdir()
    shutil.copy(SETTINGS, home / "dagster" / "dagster.yaml")
    user, password = server.reader_auth or ("", "")
    settings = {
        "DAGSTER_HOME": str(home / "dagster"),
        "PITLAKE_LAKE": str(home / "lake"),
        "PITLAKE_NOTIFY": webhook.url,
        "FRED_API_KEY": "soak",
        "SOAK_STOP": str(home / "stop"),
        "SOAK_GRAPH": f"bolt://127.0.0.1:{proxy.port}",
        "SOAK_USER": user,
        "SOAK_PASSWORD": password,
        "SOAK_DATABASE": server.database,
        "PYTHONPATH": str(ROOT),
    }
    environment = {**os.environ, **FAST_EVENTS, **database, **settings, **provider.settings()}
    program = str(Path(sys.executable).with_name("dagster"))
    subprocess.run([program, "instance", "migrate"], env=environment, check=True, capture_output=True)
    return House(environment, home / "workspace.yaml", free_port())


def _disturb(
    house: House, seconds: float, proxy: Proxy, provider: Loopback, disk: Path | None
) -> list[tuple[str, float]]:
    """Let it run, with each fault at its time; returns what was done and when."""

    def refuse(_ask: Ask, _reply: Reply) -> Reply:
        return REFUSED

    plan = [
        (0.15, "the graph is gone", proxy.shut),
        (0.25, "the graph is back", proxy.reopen),
        (0.35, "the provider answers 429", lambda: provider.behave(refuse)),
        (0.45, "the provider answers", provider.behave),
        (0.75, "the daemon is killed", lambda: house.kill("daemon")),
        (0.80, "the daemon is started", lambda: house.start("daemon")),
    ]
    if disk is not None:
        plan += [
            (0.55, "the staging disk is full", lambda: fill(disk)),
            (0.65, "the disk is free", lambda: empty(disk)),
        ]
    done: list[tuple[str, float]] = []
    began, todo = time.monotonic(), sorted(plan, key=lambda fault: fault[0])
    while (passed := time.monotonic() - began) < seconds:
        while todo and passed >= todo[0][0] * seconds:
            _, what, act = todo.pop(0)
            act()
            done.append((what, time.time()))
            print(f"{passed:6.0f} s  {what}", file=sys.stderr)
        house.measure(began)
        time.sleep(5)
    return done


def _judge(
    house: House,
    runs: list[dict[str, str]],
    webhook: Webhook,
    done: list[tuple[str, float]],
    lake: Lake,
    server: GraphServer,
    home: Path,
) -> int:
    """Say what was found, and whether it is what it must be."""
    problems = []
    outcomes = Counter((run["jobName"], run["status"]) for run in runs)
    print("\n".join(f"{job:16} {status:10} {count}" for (job, status), count in sorted(outcomes.items())))
    for what, since in done[0::2]:
        until = next((at for other, at in done if at > since), since + 600) + 120
        failed = [r for r in runs if r["status"] == "FAILURE" and since - 60 <= (r["startTime"] or 0) <= until]
        print(f"{what}: {len(failed)} failed runs in the UI")
    alerts = Counter(title for title, _ in webhook.alerts)
    print(f"alerts: {dict(alerts)}")
    reasons = Counter(
        line.split(": ", 1)[1][:70] for _, body in webhook.alerts for line in body.splitlines() if ": " in line
    )
    print(f"reasons: {dict(reasons.most_common(8))}")
    failures = sum(run["status"] == "FAILURE" for run in runs)
    if failures and sum(count for title, count in alerts.items() if "failed" in title) < failures:
        problems.append(f"{failures} runs failed and fewer were told of")
    problems += _lake_problems(lake, server, home)
    grown = _growth(house.memory)
    print(f"memory of webserver, daemon and code servers: {grown:+.1%} from the second fifth to the last")
    if grown > 0.10:
        problems.append("memory grew")
    subprocess.run(
        [Path(sys.executable).with_name("pitlake"), "report", "--lake", lake.location, "-o", home / "report"],
        check=True,
        cwd=ROOT,
    )
    print("\n".join(problems) or "no problems")
    return bool(problems)


def _lake_problems(lake: Lake, server: GraphServer, home: Path) -> list[str]:
    """Run every window again: the lake must then hold what an undisturbed one holds, and nothing twice."""
    other = Lake(home / "undisturbed")
    days = [day for number in range(WINDOWS) for day in _days(*window(number))]
    problems = []
    with Graph(server.uri, server.reader_auth, server.database) as graph:
        for name, extractor in all_extractors().items():
            if not extractor.dataset.partitioned:
                continue
            for one in (lake, other):
                run_partitions(extractor, days, graph, one, run_id="judge")
            if seen(lake, name) != seen(other, name):
                problems.append(f"{name} differs from an undisturbed lake")
    problems += [f"{name} holds a row twice" for name in all_datasets() if _twice(lake, name)]
    print(f"lake: version {lake.head()}, {sum(len(seen(lake, name)) for name in all_datasets()):,} rows")
    return problems


def _twice(lake: Lake, name: str) -> bool:
    rows = [tuple(pair for pair in row if pair[0] != "evidence") for row in seen(lake, name)]
    return len(set(rows)) != len(rows)


def _days(first, last):
    return [first + timedelta(days=offset) for offset in range((last - first).days + 1)]


def _growth(memory: list[tuple[float, int]]) -> float:
    fifth = max(1, len(memory) // 5)
    early = statistics.median(total for _, total in memory[fifth : 2 * fifth])
    late = statistics.median(total for _, total in memory[-fifth:])
    return late / early - 1


def _until(ready, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if ready():
                return
        time.sleep(1)
    raise TimeoutError("the soak's servers did not get ready")


def main() -> int:
    """Run the soak in a folder of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pitlake-soak-") as folder:
        os.chmod(folder, 0o755)  # noqa: PTH101 - Postgres runs as another user
        return soak(Path(folder), asked.minutes)


if __name__ == "__main__":
    sys.exit(main())
