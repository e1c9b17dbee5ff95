"""The batched event log tells of a run what Dagster's own storage tells of it."""

import dagster as dg
import pytest

from assets.factory import graph_asset
from pipelines.partitions import DAYS
from resources.lake import LakeResource
from resources.settings import ExtractionSettings
from tests.toys import TOY, ToyGraph, ToyResource

KEY = dg.AssetKey("notes")
RANGE = {"dagster/asset_partition_range_start": "2024-03-08", "dagster/asset_partition_range_end": "2024-03-12"}


@pytest.fixture(scope="module", params=["batched", "dagster's own"])
def instance(request, root, tmp_path_factory):
    home = tmp_path_factory.mktemp("dagster")
    settings = (root / "dagster.yaml").read_text()
    own, _, _ = settings.partition("event_log_storage:")
    (home / "dagster.yaml").write_text(settings if request.param == "batched" else own)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", str(home))
        patch.setenv("DAGSTER_EVENT_BATCH_SIZE", "3")
        patch.setenv("DAGSTER_EMIT_PARTITION_SUBSET_IN_PLANNED_EVENTS", "1")
        with dg.DagsterInstance.get() as instance:
            yield instance


@pytest.fixture(scope="module")
def run(instance, tmp_path_factory):
    ToyResource.toy = ToyGraph()
    ToyResource.toy.write("a", "2024-03-10T12:00:00-04:00")
    lake = LakeResource(root=str(tmp_path_factory.mktemp("lake")))
    resources = {"graph": ToyResource(), "lake": lake, "settings": ExtractionSettings()}
    return dg.materialize([graph_asset(TOY, DAYS)], instance=instance, resources=resources, tags=RANGE)


def test_every_day_of_a_range_is_materialised(run, instance):
    assert instance.get_materialized_partitions(KEY) == {f"2024-03-{day:02}" for day in range(8, 13)}


def test_the_newest_materialisation_is_the_last_day(run, instance):
    newest = instance.get_latest_materialization_event(KEY)
    assert newest.asset_materialization.partition == "2024-03-12"
    assert newest.run_id == run.run_id


def test_metadata_of_each_day_is_found(run, instance):
    records = instance.fetch_materializations(KEY, limit=10).records
    counts = {one.partition_key: one.asset_materialization.metadata.get("published") for one in records}
    assert counts["2024-03-10"].value == 1
    assert counts["2024-03-09"] is None


def test_every_check_is_evaluated(run, instance):
    keys = [evaluation.asset_check_key for evaluation in run.get_asset_check_evaluations()]
    latest = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
    assert {latest[key].status.value for key in keys} == {"SUCCEEDED"}


def test_the_run_s_own_events_are_complete(run, instance):
    events = [entry.dagster_event.event_type_value for entry in instance.all_logs(run.run_id) if entry.is_dagster_event]
    assert events.count("ASSET_MATERIALIZATION") == 5
    assert events[-1] == "PIPELINE_SUCCESS"


@pytest.mark.parametrize("instance", ["batched"], indirect=True)
def test_a_check_of_a_range_is_planned_once(run, instance):
    assert type(instance.event_log_storage).__name__ == "RangeEventLog"
    key = run.get_asset_check_evaluations()[0].asset_check_key
    records = instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    assert [record.status.value for record in records] == ["SUCCEEDED"]
