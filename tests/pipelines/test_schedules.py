"""Start times of scheduled runs, by New York time and the exchange's calendar."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import dagster as dg
import pytest

from assets.derived.earnings_bundles import Event
from assets.derived.factory import follow_inputs
from pipelines import schedules
from pipelines.definitions import build_definitions
from pitlake.lake.storage.watch_list import WatchList
from resources.lake import LakeResource


def at(text):
    moment = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo("America/New_York"))
    return dg.build_schedule_context(scheduled_execution_time=moment)


@pytest.mark.parametrize(("day", "runs"), [("2024-07-03", True), ("2024-07-04", False), ("2024-07-06", False)])
def test_before_the_open_runs_only_on_trading_days(day, runs):
    with at(f"{day} 08:00") as context:
        assert isinstance(schedules.before_the_open(context), dg.RunRequest) is runs


@pytest.fixture
def watching(tmp_path):
    """A lake whose watch list has two companies and a series."""
    lake = LakeResource(root=str(tmp_path / "lake"))
    companies = {"0000320193": ("AAPL",), "0009800019": ("QBRY",)}
    lake.open().watch(WatchList(companies=companies, series=("GDP",), since=date(2015, 1, 1)))
    return lake


def test_a_watch_requests_the_lakes_watch_list_and_skips_an_empty_list(watching, tmp_path):
    with at("2024-07-03 09:15") as context:
        assert isinstance(schedules.edgar(context, lake=LakeResource(root=str(tmp_path / "other"))), dg.SkipReason)
        question = schedules.edgar(context, lake=watching)
    config = question.run_config["ops"]["sec_filings"]["config"]
    assert config == {"mode": "refresh", "ciks": ["0000320193", "0009800019"]}


def test_the_run_config_of_a_watch_is_valid_for_its_job(watching, monkeypatch):
    monkeypatch.setenv("FRED_API_KEY", "no-key-opens-anything")
    monkeypatch.delenv("POLYGON_API_KEY", raising=False)
    with at("2024-07-03 08:31") as context:
        macro = schedules.macro_releases(context, lake=watching)
        every = schedules.watched_sources(context, lake=watching)
    definitions = build_definitions()
    assert dg.validate_run_config(definitions.resolve_job_def("macro_watch"), macro.run_config)
    assert dg.validate_run_config(definitions.resolve_job_def("external_feeds"), every.run_config)
    assert every.run_config["ops"]["macro_observations"]["config"]["series"] == ["GDP"]
    assert every.run_config["ops"]["sec_facts"]["config"]["date_from"] == "2015-01-01"
    assert "polygon_splits" not in every.run_config["ops"]


def test_drops_run_only_if_a_folder_is_configured(monkeypatch):
    with at("2024-07-07 03:00") as context:
        monkeypatch.delenv("PITLAKE_DROPS", raising=False)
        assert isinstance(schedules.drops(context), dg.SkipReason)
        monkeypatch.setenv("PITLAKE_DROPS", "/drops")
        assert isinstance(schedules.drops(context), dg.RunRequest)


def test_every_schedule_is_stopped_by_default():
    assert {each.default_status for each in schedules.ALL} == {dg.DefaultScheduleStatus.STOPPED}


@pytest.mark.parametrize("schedule", [schedules.evening_report, schedules.weekly_upkeep], ids=lambda each: each.name)
def test_schedules_that_read_the_lake_skip_until_there_is_a_lake(schedule, tmp_path):
    lake = LakeResource(root=str(tmp_path / "lake"))
    with at("2024-07-07 03:00") as context:
        assert isinstance(schedule(context, lake=lake), dg.SkipReason)
        lake.open().start()
        assert isinstance(schedule(context, lake=lake), dg.RunRequest)


@pytest.mark.parametrize(("day", "runs"), [("2024-07-03", True), ("2024-07-04", False), ("2024-09-03", False)])
def test_releases_of_recent_weeks_are_rebuilt_in_a_single_run(day, runs, monkeypatch):
    moment = datetime.fromisoformat("2024-07-01T20:05:00+00:00")
    existing = [Event(moment - timedelta(days=7 * n), f"T{n % 2}", f"T-{n}") for n in range(20)]
    monkeypatch.setattr(schedules, "events", lambda _lake: sorted(existing))
    with dg.DagsterInstance.ephemeral() as instance, at(f"{day} 20:00") as context:
        monkeypatch.setattr(dg.ScheduleEvaluationContext, "instance", instance)
        question = schedules.evening_bundles(context, lake=LakeResource(root="nowhere"))
    if not runs:
        assert isinstance(question, dg.SkipReason)
        return
    assert schedules.earnings.tags(existing[6].key, existing[0].key).items() <= question.tags.items()


def test_evening_schedules_run_extraction_then_bundles_then_the_report():
    order = (schedules.evening, schedules.evening_bundles, schedules.evening_report)
    begins = [tuple(map(int, each.cron_schedule.split()[1::-1])) for each in order]
    assert begins == sorted(begins)


def test_derived_datasets_are_requested_only_after_their_inputs_change():
    definitions = build_definitions()
    assets = definitions.resolve_asset_graph()
    with dg.DagsterInstance.ephemeral() as instance:

        def requested(cursor=None):
            result = dg.evaluate_automation_conditions(
                definitions, instance=instance, asset_selection=follow_inputs.asset_selection, cursor=cursor
            )
            names = {each.key.path[0] for each in result.results if each.true_subset.size}
            return names, result.cursor

        nothing, cursor = requested()
        instance.report_runless_asset_event(dg.AssetMaterialization("news", partition="2024-05-22"))
        after_news, cursor = requested(cursor)
        again, cursor = requested(cursor)
        instance.report_runless_asset_event(dg.AssetMaterialization("sec_filings"))
        after_filings, _ = requested(cursor)
    assert (nothing, after_news, again) == (set(), {"text_vectors"}, set())
    assert after_filings == {"names", "earnings_events"}
    followed = {key.path[0] for key in assets.get_all_asset_keys() if assets.get(key).automation_condition}
    assert followed == {"names", "earnings_events", "text_vectors"}
