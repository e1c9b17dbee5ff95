"""`make serve`: Postgres, Dagster's webserver and its daemon on this machine, without Docker, until interrupted.

Forge's journal is in the same Postgres, unless it was started elsewhere. HOME/environment, which only its user can
read, takes a shell there while all this runs.

This module only starts processes. `pipelines.definitions` defines their work, and `resources.postgres` defines
Postgres.
"""

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import requests

from forge.memory.memory import JOURNAL_VARIABLE, LAKE_VARIABLE, journal_file, lake_root
from local_servers.server import free_port
from pitlake.errors import PitlakeError
from resources.postgres import Postgres, postgres

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = ROOT / "deploy" / "dagster-postgres.yaml"
FAST_EVENTS = {"DAGSTER_EVENT_BATCH_SIZE": "500", "DAGSTER_EMIT_PARTITION_SUBSET_IN_PLANNED_EVENTS": "1"}
# The webserver and the daemon have many threads, and glibc keeps freed memory per thread.
FEW_ARENAS = {"MALLOC_ARENA_MAX": "2"}
GRACE_SECONDS = 60


@dataclass(frozen=True)
class House:
    """A running service: its address, its processes, and the environment that reaches the same instance."""

    url: str
    processes: tuple["subprocess.Popen[bytes]", ...]
    environment: Mapping[str, str] = field(repr=False)

    @property
    def runs(self) -> bool:
        """Whether all its processes are running."""
        return all(process.poll() is None for process in self.processes)

    @property
    def answers(self) -> bool:
        """Whether the UI responds, which takes some seconds after the start."""
        try:
            return requests.get(f"{self.url}/server_info", timeout=5).ok
        except requests.RequestException:
            return False


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM, or until one of the processes ends. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, default=ROOT / ".pitlake" / "serve", help="DAGSTER_HOME [%(default)s]")
    parser.add_argument("--data", type=Path, help="where Postgres keeps its data [HOME/postgres]")
    parser.add_argument("--port", type=int, default=3000, help="of the user interface, 0 for a free one [%(default)s]")
    options = parser.parse_args(arguments)
    # This is needed, too, if a shell started this process with both signals ignored.
    for ends in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ends, signal.default_int_handler)
    try:
        with serving(options.home.absolute(), {}, options.port, options.data) as house:
            while house.runs and not house.answers:
                time.sleep(0.2)
            if house.runs:
                print(f"serve: {house.url}", flush=True)  # noqa: T201 - it is a command
            while house.runs:
                time.sleep(0.2)
            return 1
    except KeyboardInterrupt:
        return 0
    except PitlakeError as error:
        print(f"serve: {error}", file=sys.stderr)  # noqa: T201 - it is a command
        return error.exit_code


@contextmanager
def serving(
    home: Path, settings: Mapping[str, str], port: int = 0, data: Path | None = None, log: int | None = None
) -> Iterator[House]:
    """Run Postgres, webserver and daemon over DAGSTER_HOME `home`, which is created, and stop them on exit.

    settings: variables added to this process's environment. port: 0 for a free port. log: file descriptor for their
    output. Raises BadInput or ServerFailed if Postgres does not start.
    """
    home.mkdir(parents=True, exist_ok=True)
    shutil.copy(SETTINGS, home / "dagster.yaml")
    with postgres(data or home / "postgres") as server:
        reached = {**server.environment, "DAGSTER_HOME": str(home), **_journal(server, os.environ | {**settings})}
        environment = {**FAST_EVENTS, **FEW_ARENAS, **reached, **settings}
        with (
            _environment_file(home / "environment", reached),
            _processes(environment, port or free_port(), log) as house,
        ):
            yield house


def _journal(server: Postgres, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the variable of Forge's journal, unless a journal is named or already exists as a file."""
    if settings.get(JOURNAL_VARIABLE) or journal_file(lake_root(settings.get(LAKE_VARIABLE))).exists():
        return {}
    return {JOURNAL_VARIABLE: server.url}


@contextmanager
def _environment_file(file: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Write the environment with which a shell reaches the service, and remove the file at the end."""
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as out:
        out.writelines(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(environment.items()))
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


@contextmanager
def _processes(environment: dict[str, str], port: int, log: int | None) -> Iterator[House]:
    whole, workspace = os.environ | environment, ["--workspace", str(ROOT / "workspace.yaml")]
    # Both create Dagster's tables at the first use, which must not happen at the same time.
    subprocess.run([_program("dagster"), "instance", "migrate"], env=whole, check=True, capture_output=True)
    commands = (
        [_program("dagster-webserver"), "--host", "127.0.0.1", "--port", str(port), *workspace],
        [_program("dagster-daemon"), "run", *workspace],
    )
    processes = [subprocess.Popen(command, env=whole, cwd=ROOT, stdout=log, stderr=log) for command in commands]
    try:
        yield House(f"http://127.0.0.1:{port}", tuple(processes), environment)
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            try:
                process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _program(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


if __name__ == "__main__":
    sys.exit(main())
