"""OpenLineage events, as a local service receives them from openlineage-python."""

import json

import dagster as dg
import pytest

from pipelines.definitions import build_definitions
from pipelines.lineage import sensors
from tests.loopback import Answer, Loopback

# In Dagster, passing the repository in a test is a beta feature; the daemon always passes it.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `repository_def`")
PATH = "/api/v1/lineage"


@dg.asset
def articles():
    pass


@dg.asset(deps=[articles, dg.AssetKey("rates")])
def summaries():
    pass


@dg.asset(deps=[summaries])
def broken():
    raise ValueError("s3cret")


JOBS = [dg.define_asset_job("publish", [articles, summaries]), dg.define_asset_job("fail", [broken])]


@pytest.fixture
def service(monkeypatch):
    server = Loopback()
    server.plays(PATH, Answer(b"", 201))
    monkeypatch.setenv("OPENLINEAGE_URL", server.url)
    yield server
    server.close()


def sent(service, instance, job, selection=None):
    """Run a job and its sensors, and return the events that were sent."""
    definitions = dg.Definitions(assets=[articles, summaries, broken], jobs=JOBS, sensors=sensors())
    repository = definitions.get_repository_def()
    run = repository.get_job(job).execute_in_process(instance=instance, raise_on_error=False, asset_selection=selection)
    for name, kind in (("start", "RUN_START"), ("complete", "RUN_SUCCESS"), ("fail", "RUN_FAILURE")):
        for event in [event for event in run.all_events if event.event_type_value == f"PIPELINE_{kind[4:]}"]:
            sensor = repository.get_sensor_def(f"lineage_{name}")
            sensor(
                dg.build_run_status_sensor_context(
                    sensor.name, event, instance, run.dagster_run, repository_def=repository
                )
            )
    events = [json.loads(body) for _, path, _, body in service.asked if path == PATH]
    assert {event["run"]["runId"] for event in events} == {run.run_id}
    return events


def names(datasets):
    return [(dataset["namespace"], dataset["name"]) for dataset in datasets]


def test_a_run_sends_its_start_and_its_end_with_what_it_reads_and_publishes(service, instance):
    start, complete = sent(service, instance, "publish")
    assert [start["eventType"], complete["eventType"]] == ["START", "COMPLETE"]
    assert start["eventTime"] < complete["eventTime"]
    for event in (start, complete):
        assert event["job"] == {"namespace": "pitlake", "name": "publish", "facets": event["job"]["facets"]}
        assert names(event["inputs"]) == [("pitlake", "rates")]
        assert names(event["outputs"]) == [("pitlake", "articles"), ("pitlake", "summaries")]


def test_a_run_of_some_assets_names_only_those_in_the_configured_namespace(service, instance, monkeypatch):
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "desk")
    start, _ = sent(service, instance, "publish", [summaries.key])
    assert names(start["inputs"]) == [("desk", "articles"), ("desk", "rates")]
    assert names(start["outputs"]) == [("desk", "summaries")]


def test_a_failed_run_sends_a_fail_event_without_the_reason(service, instance):
    _, fail = sent(service, instance, "fail")
    assert fail["eventType"] == "FAIL"
    assert "s3cret" not in json.dumps(fail)


def test_without_an_openlineage_url_there_are_no_lineage_sensors(service, monkeypatch):
    assert {"lineage_start", "lineage_abort"} <= {sensor.name for sensor in build_definitions().sensors}
    monkeypatch.delenv("OPENLINEAGE_URL")
    assert sensors() == []
