"""The selection of releases to build: by the sensor, by the command, and in a single run."""

from datetime import datetime, timedelta, timezone

import dagster as dg
import pytest

from assets.derived.bundle_assets import bundle_assets
from assets.derived.earnings_bundles import Event, events
from pipelines.definitions import build_definitions
from pipelines.earnings import BUNDLES, new_earnings, one_run, register, tags
from pipelines.partitions import EARNINGS
from pitlake.cli import invoke
from pitlake.errors import LakeConflict
from pitlake.lake.publishing.audit import CheckResult
from resources.lake import LakeResource
from tests.derived.test_earnings_bundles import fill


@pytest.fixture(scope="module")
def earnings_lake(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("runs") / "lake")


@pytest.fixture
def lake(tmp_path):
    return fill(tmp_path / "lake")


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


def release(day, ticker, **more):
    return Event(datetime(2024, *day, 20, 20, 4, tzinfo=timezone.utc).replace(**more), ticker, f"{ticker}{day}")


def test_releases_of_a_month_are_a_single_partition_range_across_companies(instance):
    spring = [release(day, ticker) for ticker in ("QBRY", "AAPL", "QBAR") for day in ((4, 30), (5, 22), (6, 3))]
    assert register(instance, spring)[:3] == [f"2024-04-30T20:20:04Z|{name}" for name in ("AAPL", "QBAR", "QBRY")]
    may = [event.key for event in spring if event.event_at.month == 5]
    request = {"tags": tags("2024-05-22T20:20:04Z|AAPL", "2024-05-22T20:20:04Z|QBRY"), "run_config": {}}
    assert one_run(instance, may) == request


def test_release_partition_keys_sort_by_time():
    first, second = release((5, 22), "B"), release((5, 22), "C", microsecond=5)
    third = release((5, 22), "A", second=5)
    assert sorted([third.key, second.key, first.key]) == [first.key, second.key, third.key]


def test_releases_that_are_not_contiguous_are_a_single_run_that_names_them(instance):
    keys = register(instance, [release((5, day), "AB"[day % 2]) for day in range(1, 10)])
    late = register(instance, [release((5, 3), "LATE")])
    chosen = [*keys[::2], *late]
    request = one_run(instance, chosen)
    assert request == {
        "tags": {"dagster/partition": keys[0]},
        "run_config": {"ops": {name: {"config": {"releases": chosen}} for name in BUNDLES}},
    }


@pytest.mark.long
def test_a_run_that_names_releases_materialises_only_their_partitions(lake, instance, monkeypatch):
    met = (CheckResult(name="expectations", passed=True), CheckResult(name="expectation_warnings", passed=True))
    monkeypatch.setattr("assets.derived.bundle_assets.expected", lambda _staged, _observed_at: met)  # slow to import
    first, second = (event.key for event in events(lake))
    instance.add_dynamic_partitions("earnings_events", [first, "2024-03-01T21:00:00Z|ELSE", second])
    request = one_run(instance, [first, second])
    wiring = build_definitions(resources={"lake": LakeResource(root=lake.location)})
    result = wiring.resolve_job_def("earnings_bundles").execute_in_process(instance=instance, **request)
    assert result.success
    assert len(result.get_asset_check_evaluations()) > len(BUNDLES)
    for name in BUNDLES:
        assert instance.get_materialized_partitions(dg.AssetKey(name)) == {first, second}


def test_partition_keys_of_no_release_fail_before_anything_is_read(earnings_lake, instance, monkeypatch):
    for module in ("earnings_bundles", "earnings_outcomes"):
        monkeypatch.setattr(f"assets.derived.bundle_assets.{module}.build", None)
    instance.add_dynamic_partitions("earnings_events", ["2024-05-22|QBRY", "QBG|2024-05-14T22:00:00Z"])
    result = dg.materialize(
        bundle_assets(EARNINGS),
        instance=instance,
        resources={"lake": LakeResource(root=earnings_lake.location)},
        raise_on_error=False,
        tags=tags("2024-05-22|QBRY", "QBG|2024-05-14T22:00:00Z"),
    )
    message = {event.step_failure_data.user_failure_data.description for event in result.get_step_failure_events()}
    assert message == {
        "partition: '2024-05-22|QBRY', 'QBG|2024-05-14T22:00:00Z': this lake has no such release; pick others"
    }


@pytest.fixture
def looked(earnings_lake):
    """A function that returns the tags of the runs that the sensor requests on an instance."""

    def look(instance):
        with dg.build_sensor_context(
            instance=instance, resources={"lake": LakeResource(root=earnings_lake.location)}
        ) as context:
            result = new_earnings(context)
        return [] if isinstance(result, dg.SkipReason) else [request.tags for request in result.run_requests]

    return look


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    monkeypatch.setenv("DAGSTER_HOME", str(folder))
    return folder


def built(instance, event, *names):
    for name in names:
        instance.report_runless_asset_event(dg.AssetMaterialization(name, partition=event.key))


def test_the_sensor_requests_only_releases_not_yet_fully_built(earnings_lake, looked):
    first, second = events(earnings_lake)
    with dg.DagsterInstance.ephemeral() as instance:
        register(instance, [first])
        built(instance, first, "earnings_snapshots", "earnings_outcomes")
        assert looked(instance) == [tags(second.key, second.key)]
        built(instance, second, "earnings_snapshots")
        assert looked(instance) == [tags(second.key, second.key)]
        built(instance, second, "earnings_outcomes")
        assert looked(instance) == []


def test_the_sensor_does_not_request_a_release_again_soon_after_a_failed_run(earnings_lake, looked, monkeypatch):
    @dg.op
    def fail():
        raise dg.Failure("no")

    with dg.DagsterInstance.ephemeral() as instance:
        (question,) = looked(instance)
        job = dg.GraphDefinition(name="earnings_bundles", node_defs=[fail]).to_job()
        job.execute_in_process(instance=instance, tags=question, raise_on_error=False)
        assert looked(instance) == []
        monkeypatch.setattr("pipelines.earnings.AGAIN_AFTER", timedelta(0))
        assert looked(instance) == [question]


def test_the_backfill_command_registers_only_the_releases_it_builds(lake, home, looked):
    question = ["backfill", "earnings", "--lake", lake.location, "--to", "2024-03-01", "--anchors", "at_release"]
    assert invoke(question) == 0
    first, second = events(lake)
    with dg.DagsterInstance.get() as instance:
        assert instance.get_dynamic_partitions("earnings_events") == [first.key]
        assert looked(instance) == [tags(second.key, second.key)]
        (run,) = instance.get_runs()
        assert run.job_name == "earnings_bundles"
        assert run.tags["pitlake/asked"] == "pitlake backfill earnings --to 2024-03-01 --anchors at_release"


def test_each_release_of_a_range_names_the_version_that_published_it(earnings_lake, home):
    assert invoke(["backfill", "earnings", "--lake", earnings_lake.location]) == 0
    with dg.DagsterInstance.get() as instance:
        result = instance.fetch_materializations(dg.AssetKey("earnings_snapshots"), limit=10).records
    reply = {each.partition_key: each.asset_materialization.metadata["lake version"].value for each in result}
    (version,) = {entry.version for entry in earnings_lake.versions() if entry.dataset == "earnings_snapshots"}
    assert reply == dict.fromkeys((event.key for event in events(earnings_lake)), version)


@pytest.mark.parametrize(("home", "says"), [("relative", "is relative"), ("/nonexistent", "is not a directory")])
def test_an_invalid_dagster_home_is_reported_in_a_single_line(earnings_lake, home, says, monkeypatch, capfd):
    monkeypatch.setenv("DAGSTER_HOME", home)
    assert invoke(["backfill", "earnings", "--lake", earnings_lake.location]) == 2
    assert capfd.readouterr().err.startswith(f"pitlake: DAGSTER_HOME: {says}; ")


def test_an_invalid_dagster_yaml_is_reported_as_a_fault_of_dagster_home(earnings_lake, home, capfd):
    (home / "dagster.yaml").write_text("nonsense: [1]\n")
    assert invoke(["backfill", "earnings", "--lake", earnings_lake.location]) == 2
    assert "pitlake: DAGSTER_HOME: has no valid dagster.yaml" in capfd.readouterr().err


def test_a_failed_backfill_command_says_why_without_a_traceback(earnings_lake, monkeypatch, capfd):
    def refuse(*_, **__):
        raise LakeConflict("other writers won")

    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.setattr("assets.derived.bundle_assets.earnings_bundles.build", refuse)
    monkeypatch.setattr("assets.derived.bundle_assets.earnings_outcomes.build", refuse)
    assert invoke(["backfill", "earnings", "--lake", earnings_lake.location]) == 1
    output = capfd.readouterr()
    reply = output.err.splitlines()
    assert reply[0].startswith("one run of 2 releases: ")
    assert sorted(reply[1:]) == [
        "earnings_outcomes failed: pitlake.errors.LakeConflict: other writers won",
        "earnings_snapshots failed: pitlake.errors.LakeConflict: other writers won",
        "the run's log: name DAGSTER_HOME to keep it",
    ]
    assert "Traceback" not in output.out + output.err
