"""Dagster on a real Postgres from the system's packages, and all of `make serve`."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

import dagster as dg
import psutil
import pytest

from assets.factory import graph_asset
from forge.core.clock import live
from forge.memory.journal import Journal
from pipelines import serve
from pipelines.partitions import DAYS
from pipelines.serve import FAST_EVENTS, ROOT, SETTINGS
from pitlake.errors import ServerFailed
from pitlake.lake.lake import Lake
from resources.lake import LakeResource
from resources.postgres import Postgres, postgres, programs
from resources.settings import ExtractionSettings
from tests.processes import children_with
from tests.shared import postgres_folder
from tests.toys import TOY, ToyResource, between, stored

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(programs() is None, reason="no Postgres server: install the package postgresql"),
]


@pytest.fixture(scope="module")
def place():
    with postgres_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def server(place):
    with postgres(place / "data") as running:
        yield running


@pytest.fixture
def instance(server, tmp_path, monkeypatch):
    for name, value in {**FAST_EVENTS, **server.environment, "DAGSTER_HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "dagster.yaml").write_text(SETTINGS.read_text())
    with dg.DagsterInstance.get() as result:
        yield result


def test_a_range_of_days_is_published_and_remembered_in_postgres(instance, toy, tmp_path):
    days = between("2024-03-01", "2024-04-30")
    for day in days:
        toy.write(f"note {day}", f"{day}T12:00:00-05:00")
    result = dg.materialize(
        [graph_asset(TOY, DAYS)],
        instance=instance,
        resources={
            "graph": ToyResource(),
            "lake": LakeResource(root=str(tmp_path / "lake")),
            "settings": ExtractionSettings(),
        },
        tags={"dagster/asset_partition_range_start": "2024-03-01", "dagster/asset_partition_range_end": "2024-04-30"},
    )
    assert result.success
    assert instance.get_run_by_id(result.run_id).is_success
    assert instance.get_materialized_partitions(dg.AssetKey("notes")) == {day.isoformat() for day in days}
    assert len(stored(Lake(tmp_path / "lake"))) == len(days)


def test_the_postgres_password_is_in_no_settings_file_and_no_command_line(server, place):
    remaining = place / "data.password"
    assert remaining.stat().st_mode & 0o077 == 0
    assert server.password not in SETTINGS.read_text()
    lines = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
    assert not any(server.password in line for line in lines)


def test_serve_starts_and_stops_the_webserver_and_the_daemons(place, tmp_path):
    command = [sys.executable, "-m", "pipelines.serve", "--home", place / "home", "--port", "0"]
    environment = os.environ | {"PITLAKE_LAKE": str(tmp_path / "lake")}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as running:
        line = next(line for line in running.stdout if line.startswith("serve: "))
        url = line.removeprefix("serve: ").strip()
        assert urllib.request.urlopen(f"{url}/server_info", timeout=30).status == 200  # it is up by now
        health = wait_for_daemons(url, running)
        arenas = {child.environ().get("MALLOC_ARENA_MAX") for child in dagsters(running.pid)}
        (journal,) = {child.environ().get("FORGE_JOURNAL") for child in dagsters(running.pid)}
        assert Journal(journal, live()).rows() == []
        reply = place / "home" / "environment"
        assert (reply.stat().st_mode & 0o777, f"export FORGE_JOURNAL={journal}" in reply.read_text()) == (0o600, True)
        running.send_signal(signal.SIGTERM)
        assert running.wait(120) == 0
    assert {"SENSOR", "SCHEDULER", "BACKFILL", "MONITORING"} <= health
    assert arenas == {"2"}
    assert not reply.exists()
    with pytest.raises(OSError):  # noqa: PT011 - the error depends on the system
        urllib.request.urlopen(f"{url}/server_info", timeout=5)
    with postgres(place / "home" / "postgres") as again:  # it was stopped cleanly, so it opens again
        assert again.port


@pytest.mark.parametrize(
    ("settings", "start", "set_"),
    [
        ({}, (), True),
        ({"FORGE_LAKE": "book"}, ("book-journal.sqlite",), False),
        ({"FORGE_LAKE": "file:///nowhere/book"}, (), True),
        ({"FORGE_JOURNAL": "mine.sqlite"}, (), False),
        ({}, (".pitlake/forge-journal.sqlite",), False),
    ],
)
def test_forges_journal_is_in_postgres_unless_it_already_exists_elsewhere(monkeypatch, tmp_path, settings, start, set_):
    monkeypatch.chdir(tmp_path)
    for name in start:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    server = Postgres(1, "secret")
    assert serve._journal(server, settings) == ({"FORGE_JOURNAL": server.url} if set_ else {})
    assert "secret" not in repr(server)


def dagsters(pid):
    """Return the permanent processes: the webserver and the daemon."""
    return children_with("dagster", pid)


def wait_for_daemons(url, running):
    query = json.dumps({"query": "{instance{daemonHealth{allDaemonStatuses{daemonType healthy}}}}"}).encode()
    while running.poll() is None:
        try:
            question = urllib.request.Request(f"{url}/graphql", query, {"content-type": "application/json"})
            reply = json.load(urllib.request.urlopen(question, timeout=30))
        except OSError:
            time.sleep(0.2)
            continue
        statuses = reply["data"]["instance"]["daemonHealth"]["allDaemonStatuses"]
        if all(status["healthy"] for status in statuses):
            return {status["daemonType"] for status in statuses}
        time.sleep(0.2)
    raise AssertionError(f"serve ended with {running.returncode}")


def test_a_failed_postgres_start_says_why_and_leaves_no_password_file(place):
    (place / "full").mkdir()
    (place / "full" / "file").touch()
    with pytest.raises(ServerFailed, match="initdb could not make"), postgres(place / "full"):
        pass
    assert not (place / "full.password").exists()
