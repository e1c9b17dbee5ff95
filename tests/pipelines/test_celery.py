"""deploy/celery: a real broker passes a run to a separate worker, which commits. A busy worker takes no second run."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

import dagster as dg
import pytest
import yaml

from local_servers.server import free_port
from pitlake.lake.lake import Lake
from tests.cli.conftest import article
from tests.kit import publish
from tests.pipelines import meeting

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="no broker: install the package redis-server"),
]
PASSWORD = "Br0ker/Br0ker"
PROGRAMS = Path(sys.executable).parent


@contextmanager
def running(command, environment, cwd, feed=""):
    with subprocess.Popen(
        command,
        env=environment,
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        process.stdin.write(feed)
        process.stdin.close()
        yield process
        process.send_signal(signal.SIGTERM)
        process.stdout.read()


@pytest.fixture
def environment(root, tmp_path):
    """The shipped settings with SQLite and without a queue, so that neither Postgres nor a daemon is needed."""
    settings = yaml.safe_load((root / "deploy/celery/dagster.yaml").read_text())
    remaining = {name: settings[name] for name in ("telemetry", "nux", "run_launcher")}
    direct = {"module": "dagster._core.run_coordinator", "class": "DefaultRunCoordinator"}
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(remaining | {"run_coordinator": direct}))
    url = f"redis://:{urllib.parse.quote(PASSWORD, safe='')}@127.0.0.1:{free_port()}/0"
    return os.environ | {
        "DAGSTER_HOME": str(tmp_path),
        "CELERY_BROKER_URL": url,
        "CELERY_RESULT_BACKEND": url,
        "PITLAKE_LAKE": str(tmp_path / "lake"),
        "PYTHONPATH": str(root),
    }


@contextmanager
def broker(environment, folder):
    port = urllib.parse.urlsplit(environment["CELERY_BROKER_URL"]).port
    settings = f'port {port}\nbind 127.0.0.1\nsave ""\nrequirepass {PASSWORD}\n'
    with running(["redis-server", "-"], environment, folder, settings) as process:
        assert any("Ready to accept connections" in line for line in process.stdout)
        yield


def worker(root, name, app="dagster_celery.app"):
    """Return the worker command of docs/deployment.md, with a different name and app."""
    [line] = re.findall("^celery (.*)$", (root / "docs/deployment.md").read_text(), re.MULTILINE)
    inputs = line.replace('"worker@%h"', name).replace("dagster_celery.app", app)
    return [PROGRAMS / "celery", *inputs.split()]


def test_a_worker_takes_the_run_from_the_broker_and_commits_to_the_lake(environment, root, tmp_path, monkeypatch):
    lake = Lake(tmp_path / "lake")
    for number in range(3):
        at = datetime(2024, 2, 1 + number, 12, tzinfo=timezone.utc)
        publish(lake, "news", [article(number, "Title", at)], f"run-{number}")
    publish(lake, "news", [article(9, "Title", datetime(2024, 3, 1, 12, tzinfo=timezone.utc))], "later")
    launch = [PROGRAMS / "dagster", "job", "launch", "--workspace", "workspace.yaml", "--job", "maintenance"]
    with broker(environment, tmp_path), running(worker(root, "worker@%h"), environment, root) as process:
        subprocess.run(launch, cwd=root, env=environment, capture_output=True, timeout=200, check=True)
        for name in ("DAGSTER_HOME", "CELERY_BROKER_URL", "CELERY_RESULT_BACKEND"):
            monkeypatch.setenv(name, environment[name])
        with dg.DagsterInstance.get() as instance:
            [run] = instance.get_runs()
            while not (run := instance.get_run_by_id(run.run_id)).is_finished:
                assert process.poll() is None
                time.sleep(0.1)
            assert run.is_success
            assert run.tags["dagster-celery/task_id"]
    assert len(Lake(lake.root).snapshot().files("news")) == 2
    assert Lake(lake.root).entry().operation == "compact"


def test_a_worker_that_is_busy_leaves_the_next_run_to_another(environment, root, tmp_path, monkeypatch):
    for name in ("CELERY_BROKER_URL", "CELERY_RESULT_BACKEND"):
        monkeypatch.setenv(name, environment[name])
    app = meeting.make_app()
    (here := tmp_path / "here").mkdir()
    with broker(environment, tmp_path), running(worker(root, "first@%h", meeting.__name__), environment, root):
        sent = [app.send_task(meeting.meet.name, (str(here), 2), queue="dagster") for _ in range(2)]
        while not list(here.iterdir()):
            time.sleep(0.1)
        with running(worker(root, "second@%h", meeting.__name__), environment, root):
            assert [each.get(timeout=240) for each in sent] == [2, 2]
