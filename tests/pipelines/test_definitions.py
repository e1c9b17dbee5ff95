"""The definitions load, every dataset has an asset, and an asset's metadata comes from its contract."""

from datetime import datetime
from zoneinfo import ZoneInfo

import dagster as dg
import pytest

from assets.feeds.factory import FeedConfig
from checks.audit import BLOCKING, WARNINGS
from checks.expectations import BLOCKING as EXPECTED
from checks.expectations import WARNING as WARNED
from pipelines.definitions import build_definitions
from pipelines.partitions import DAYS, FIRST_DAY
from pipelines.schedules import evening
from pitlake.datasets import all_datasets
from tests.every import every

DATASETS = [name for name, dataset in all_datasets().items() if dataset.group == "graph"]


@pytest.fixture(scope="module")
def definitions():
    return build_definitions()


@pytest.fixture(scope="module")
def specs(definitions):
    return {spec.key.to_user_string(): spec for spec in definitions.resolve_all_asset_specs()}


def test_the_definitions_are_loadable(definitions):
    dg.Definitions.validate_loadable(definitions)


def test_every_dataset_of_the_graph_has_its_asset(specs):
    assert {name for name, spec in specs.items() if spec.group_name == "graph"} == set(DATASETS)


@pytest.mark.parametrize("name", DATASETS)
def test_an_assets_metadata_follows_its_contract(specs, name):
    spec, dataset = specs[name], all_datasets()[name]
    schema = spec.metadata["dagster/column_schema"]
    assert tuple(column.name for column in schema.columns) == dataset.agent_columns
    assert every(column.description for column in schema.columns)
    assert (spec.group_name, spec.owners, spec.kinds) == ("graph", [f"team:{dataset.owner}"], {"neo4j", "deltalake"})
    assert (spec.partitions_def == DAYS) is dataset.partitioned


def test_an_assets_freshness_policy_follows_its_contract(specs):
    limits = {name: dataset.freshness for name, dataset in all_datasets().items() if name in specs}
    due = {name: specs[name].freshness_policy for name in limits}
    assert {name: policy and policy.fail_window.to_timedelta() for name, policy in due.items()} == limits
    assert every(limits[name] for name in ("news", "transcripts"))


@pytest.mark.parametrize(
    ("job", "feed", "fields"),
    [
        ("edgar_watch", "sec_filings", {"ciks"}),
        ("macro_watch", "macro_observations", {"series"}),
        ("external_feeds", "call_transcripts", {"tickers", "options"}),
    ],
)
def test_the_launchpad_shows_the_fields_of_a_feed_blank(definitions, job, feed, fields):
    display = definitions.resolve_job_def(job).run_config
    assert dg.validate_run_config(definitions.resolve_job_def(job), display)
    config = display["ops"][feed]["config"]
    assert fields <= config.keys()
    assert FeedConfig(**config).asks_nothing


@pytest.mark.parametrize("name", DATASETS)
def test_an_asset_runs_a_range_as_one_run(definitions, name):
    asset = definitions.resolve_asset_graph().get(dg.AssetKey(name))
    if all_datasets()[name].partitioned:
        assert asset.backfill_policy == dg.BackfillPolicy.single_run()


def test_partitions_are_new_york_days_up_to_today():
    now = datetime(2024, 7, 4, 23, 30, tzinfo=ZoneInfo("America/New_York"))
    keys = DAYS.get_partition_keys(current_time=now)
    assert (keys[0], keys[-1]) == (FIRST_DAY, "2024-07-04")
    assert every(all_datasets()[name].first_day.isoformat() >= FIRST_DAY for name in DATASETS)


def test_the_evening_schedule_covers_the_last_week():
    moment = datetime(2024, 7, 4, 18, 30, tzinfo=ZoneInfo("America/New_York"))
    with dg.build_schedule_context(scheduled_execution_time=moment) as context:
        (request,) = evening(context)
    assert request.tags["dagster/asset_partition_range_start"] == "2024-06-28"
    assert request.tags["dagster/asset_partition_range_end"] == "2024-07-04"


def test_standard_resources_can_be_replaced():
    replaced = build_definitions(resources={"lake": dg.ResourceDefinition.mock_resource()})
    assert set(replaced.resources) == {"graph", "lake", "settings", "notifier", "forge"}


def test_every_schedule_and_sensor_says_what_it_is_for(definitions):
    clocked = [*definitions.schedules, *definitions.sensors]
    assert len(clocked) > 15
    assert [each.name for each in clocked if not (each.description or "").endswith(".")] == []


def test_every_check_shows_its_runbook_entry(specs, definitions):
    reply = {
        spec.name: spec.metadata["runbook"].value
        for asset in definitions.assets
        if isinstance(asset, dg.AssetsDefinition)
        for spec in asset.check_specs
    }
    assert {*BLOCKING, *WARNINGS, EXPECTED, WARNED} == set(reply)
    assert "Never publish in spite of it" in reply["conservation"]
    assert every(text.count("**Do:** ") == 1 and "docs/runbook.md, Checks that " in text for text in reply.values())
