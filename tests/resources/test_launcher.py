"""A run whose process died is found out, and a busy machine is not a death."""

import json
import socket
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster import DagsterRun, DagsterRunStatus
from dagster._core.storage.tags import GRPC_INFO_TAG
from dagster._daemon.monitoring.run_monitoring import monitor_started_run

from resources import launcher
from resources.dagster_private import InstanceRef, WorkerStatus
from resources.launcher import WatchedRunLauncher

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def instance(tmp_path):
    ours = {"run_launcher": {"module": "resources.launcher", "class": "WatchedRunLauncher"}}
    ours["telemetry"] = {"enabled": False}
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(ours))
    with dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(tmp_path))) as instance:
        yield instance


@pytest.fixture
def started(instance):
    """A run that counts as started on the code server at a socket."""

    def started(where: str) -> DagsterRun:
        tags = {GRPC_INFO_TAG: json.dumps({"host": "localhost", "socket": where})}
        return instance.add_run(DagsterRun(job_name="work", status=DagsterRunStatus.STARTED, tags=tags))

    return started


def health(instance, run):
    return instance.run_launcher.check_run_worker_health(run).status


def test_a_run_whose_code_server_is_gone_fails_at_the_second_look(instance, started, tmp_path):
    run = started(str(tmp_path / "gone"))
    logger = dg.get_dagster_logger()
    for expected in (DagsterRunStatus.STARTED, DagsterRunStatus.FAILURE):
        monitor_started_run(instance, None, instance.get_run_record_by_id(run.run_id), logger)
        assert instance.get_run_by_id(run.run_id).status == expected


def test_a_code_server_that_answers_late_is_busy_and_its_runs_live(instance, started, tmp_path, monkeypatch):
    monkeypatch.setattr(launcher, "ANSWER_SECONDS", 1)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "silent"))
        silent.listen()
        run = started(str(tmp_path / "silent"))
        assert [health(instance, run) for _ in range(3)] == [WorkerStatus.RUNNING] * 3


def test_a_run_that_has_no_place_yet_is_left_alone(instance):
    run = instance.add_run(DagsterRun(job_name="work", status=DagsterRunStatus.STARTED))
    assert health(instance, run) == WorkerStatus.RUNNING


def test_it_is_the_launcher_of_the_house():
    settings = yaml.safe_load((ROOT / "deploy/dagster-postgres.yaml").read_text())
    named = settings["run_launcher"]
    assert (named["module"], named["class"]) == (WatchedRunLauncher.__module__, WatchedRunLauncher.__name__)
