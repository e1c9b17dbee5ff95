"""`python -m tests.soak.campaign --minutes 30`: Postgres, webserver, daemon and schedules for a while, faults included.

The daemon is killed, the graph goes away, the provider answers 429, the staging disk is full. Afterwards the lake must
match an undisturbed one, and `tests.soak.verdict` must find nothing. `--home FOLDER` keeps what was left there.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlsplit

from bench.extraction import sample_server
from local_servers.server import GraphServer, free_port
from pipelines.serve import FAST_EVENTS, FEW_ARENAS, ROOT, SETTINGS
from pitlake.lake.lake import Lake
from pitlake.report import site
from resources.postgres import postgres
from tests.providers.server import Loopback
from tests.soak import lakes
from tests.soak.evidence import gathered, is_well, windows_done
from tests.soak.fate import Fate, until_true
from tests.soak.house import ENDED, House
from tests.soak.verdict import Evidence, Fault, judge
from tests.soak.world import Proxy, Webhook, small_disk

WORKSPACE = (
    "load_from:\n  - python_module:\n      module_name: tests.soak.definitions\n      working_directory: {root}\n"
)
LONGEST_WAIT_SECONDS = 900.0
LONGEST_RUN_SECONDS = 300
"""The seconds after which monitoring fails a run, which detects runs that died together with their code server."""


def soak(home: Path, minutes: float) -> int:
    """Run the soak, and return the exit code."""
    with contextlib.ExitStack() as running:
        server = running.enter_context(sample_server())
        provider = running.enter_context(Loopback())
        database = running.enter_context(postgres(home / "postgres"))
        disk = home / "lake" / "_staging"
        if not running.enter_context(small_disk(disk)):
            print("no disk of its own could be mounted; this takes root, and a soak without that fault is none")
            return 2
        proxy, webhook = Proxy(urlsplit(server.uri).port), Webhook()
        settings = {**database.environment, **provider.settings(), "FRED_API_KEY": "a-key-of-the-soak"}
        os.environ.update(settings)
        house = _house(home, server, proxy, webhook)
        running.callback(lambda: [house.kill(name) for name in house.processes])
        house.start("webserver")
        until_true(lambda: bool(house.ask("{version}")), LONGEST_WAIT_SECONDS)
        house.start("daemon")
        fate = Fate(house, proxy, provider, disk)
        fate.run(minutes * 60)
        until_true(lambda: is_well(house, fate.faults), LONGEST_WAIT_SECONDS)
        (home / "stop").touch()
        until_true(lambda: _is_settled(house, webhook), LONGEST_WAIT_SECONDS)
        return _verdict(house, webhook, fate.faults, server, home)


def _house(home: Path, server: GraphServer, proxy: Proxy, webhook: Webhook) -> House:
    (home / "workspace.yaml").write_text(WORKSPACE.format(root=ROOT))
    (home / "dagster").mkdir()
    Lake(home / "lake").start()  # upkeep and report run before the first rows exist
    settings_text = SETTINGS.read_text().replace(
        "max_runtime_seconds: 43200", f"max_runtime_seconds: {LONGEST_RUN_SECONDS}"
    )
    (home / "dagster" / "dagster.yaml").write_text(settings_text)
    user, password = server.reader_auth or ("", "")
    settings = {
        "DAGSTER_HOME": str(home / "dagster"),
        "PITLAKE_LAKE": str(home / "lake"),
        "PITLAKE_REPORT": str(home / "report"),
        "PITLAKE_NOTIFY": webhook.url,
        "SOAK_STOP": str(home / "stop"),
        "SOAK_GRAPH": f"bolt://127.0.0.1:{proxy.port}",
        "SOAK_USER": user,
        "SOAK_PASSWORD": password,
        "SOAK_DATABASE": server.database,
        "PYTHONPATH": str(ROOT),
        "DAGSTER_GRPC_TIMEOUT_SECONDS": "300",  # a slow machine is not a fault
    }
    environment = {**os.environ, **FAST_EVENTS, **FEW_ARENAS, **settings}
    program = str(Path(sys.executable).with_name("dagster"))
    subprocess.run([program, "instance", "migrate"], env=environment, check=True, capture_output=True)
    return House(environment, home / "workspace.yaml", free_port())


def _is_settled(house: House, webhook: Webhook) -> bool:
    """Return whether every run has ended and every failed run was reported."""
    runs = house.runs()
    text = "\n".join(body for _, _, body in webhook.alerts)
    failed = [run["runId"] for run in runs if run["status"] == "FAILURE"]
    return all(run["status"] in ENDED for run in runs) and all(run in text for run in failed)


def _verdict(house: House, webhook: Webhook, faults: list[Fault], server: GraphServer, home: Path) -> int:
    """Gather the evidence, store it, and print the verdict."""
    lake, report = Lake(home / "lake"), home / "last-report"
    subprocess.run(
        [Path(sys.executable).with_name("pitlake"), "report", "--lake", lake.location, "-o", report],
        check=True,
        env=house.environment,
        cwd=ROOT,
    )
    inspected = lakes.inspect(lake, report / site.NUMBERS)
    seen = gathered(house, webhook, faults, report, inspected[1])
    (home / "evidence.json").write_text(json.dumps(asdict(seen), indent=1))
    house.stop("daemon")
    other = lakes.undisturbed(home / "undisturbed", server)
    compared = lakes.compare(lake, other, windows_done(seen.runs))
    whole = Evidence(**{**vars(seen), "lake": [*inspected[1], *compared[1]]})
    lines, problems = judge(whole)
    print("\n".join([*lines, *inspected[0], *compared[0], *_counted(webhook)]))
    print("\n".join(f"PROBLEM {each}" for each in problems) or "no problems")
    return bool(problems)


def _counted(webhook: Webhook) -> list[str]:
    titles = [title for _, title, _ in webhook.alerts]
    return [f"alerts: {titles.count(title)} × {title}" for title in sorted(set(titles))]


def _interrupted(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    """Run the soak in a separate folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--home", type=Path, help="an empty folder to keep everything in")
    question = parser.parse_args()
    for ends in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ends, _interrupted)
    with contextlib.ExitStack() as remaining:
        home = question.home or Path(remaining.enter_context(tempfile.TemporaryDirectory(prefix="pitlake-soak-")))
        home.mkdir(exist_ok=True)
        home.chmod(0o755)  # Postgres runs as another user
        return soak(home.resolve(), question.minutes)


if __name__ == "__main__":
    sys.exit(main())
