"""Which releases are built when: by the sensor, by the command, and as few runs."""

from datetime import timedelta

import dagster as dg
import pytest

from assets.derived.earnings_bundles import Event, events
from pipelines.earnings import new_earnings, ranges, register, tags
from pitlake.cli import invoke
from pitlake.errors import LakeConflict
from resources.lake import LakeResource
from tests.derived.test_earnings_bundles import MAY, fill


@pytest.fixture(scope="module")
def earnings_lake(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("runs") / "lake")


@pytest.fixture
def lake(tmp_path):
    return fill(tmp_path / "lake")


@pytest.fixture
def scattered(monkeypatch):
    """An instance whose releases alternate between two companies, the keys of one of them, and all keys."""
    monkeypatch.setattr("pipelines.earnings.FEW_RUNS", 2)
    with dg.DagsterInstance.ephemeral() as instance:
        keys = [Event(MAY + timedelta(days=n), "AB"[n % 2], f"{n}").key for n in range(9)]
        instance.add_dynamic_partitions("earnings_events", keys)
        yield instance, keys[1::2], keys


def test_scattered_releases_become_one_run_that_covers_no_others(scattered):
    instance, wanted, keys = scattered
    assert ranges(instance, wanted) == [(wanted[0], wanted[-1])]
    kept = list(instance.get_dynamic_partitions("earnings_events"))
    assert kept == [*keys[::2], *wanted]
    assert ranges(instance, wanted[:1]) == [(wanted[0], wanted[0])]
    assert ranges(instance, []) == []


def test_what_was_built_of_releases_stays_when_they_are_put_elsewhere(scattered):
    instance, wanted, _ = scattered
    instance.report_runless_asset_event(dg.AssetMaterialization("earnings_snapshots", partition=wanted[1]))
    ranges(instance, wanted)
    assert instance.get_materialized_partitions(dg.AssetKey("earnings_snapshots")) == {wanted[1]}


@pytest.mark.parametrize(("status", "moved"), [("STARTED", False), ("SUCCESS", True)])
def test_releases_of_a_run_under_way_stay_where_they_are(scattered, status, moved):
    instance, wanted, keys = scattered
    run = dg.DagsterRun(job_name="j", status=dg.DagsterRunStatus[status], tags=tags(keys[0], keys[2]))
    instance.add_run(run)
    assert (len(ranges(instance, wanted)) == 1) is moved
    assert (list(instance.get_dynamic_partitions("earnings_events")) != keys) is moved


@pytest.fixture
def looked(earnings_lake):
    """The sensor's answer, on an instance."""

    def look(instance):
        with dg.build_sensor_context(
            instance=instance, resources={"lake": LakeResource(root=earnings_lake.location)}
        ) as context:
            found = new_earnings(context)
        return [] if isinstance(found, dg.SkipReason) else [request.tags for request in found.run_requests]

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


def test_the_sensor_asks_for_what_was_not_built_and_not_for_what_is_unknown(earnings_lake, looked):
    first, second = events(earnings_lake)
    with dg.DagsterInstance.ephemeral() as instance:
        register(instance, [first])
        built(instance, first, "earnings_snapshots", "earnings_outcomes")
        assert looked(instance) == [tags(second.key, second.key)]
        built(instance, second, "earnings_snapshots")
        assert looked(instance) == [tags(second.key, second.key)]
        built(instance, second, "earnings_outcomes")
        assert looked(instance) == []


def test_the_sensor_does_not_ask_again_for_what_a_run_was_asked_for_lately(earnings_lake, looked, monkeypatch):
    @dg.op
    def fail():
        raise dg.Failure("no")

    with dg.DagsterInstance.ephemeral() as instance:
        (asked,) = looked(instance)
        job = dg.GraphDefinition(name="earnings_bundles", node_defs=[fail]).to_job()
        job.execute_in_process(instance=instance, tags=asked, raise_on_error=False)
        assert looked(instance) == []
        monkeypatch.setattr("pipelines.earnings.AGAIN_AFTER", timedelta(0))
        assert looked(instance) == [asked]


def test_the_command_registers_what_it_builds_alone(lake, home, looked):
    asked = ["backfill", "earnings", "--lake", lake.location, "--to", "2024-03-01", "--anchors", "at_release"]
    assert invoke(asked) == 0
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
        found = instance.fetch_materializations(dg.AssetKey("earnings_snapshots"), limit=10).records
    told = {one.partition_key: one.asset_materialization.metadata["lake version"].value for one in found}
    (version,) = {entry.version for entry in earnings_lake.versions() if entry.dataset == "earnings_snapshots"}
    assert told == dict.fromkeys((event.key for event in events(earnings_lake)), version)


@pytest.mark.parametrize(("home", "says"), [("relative", "is relative"), ("/nonexistent", "is not a directory")])
def test_a_dagster_home_that_is_none_is_one_line(earnings_lake, home, says, monkeypatch, capfd):
    monkeypatch.setenv("DAGSTER_HOME", home)
    assert invoke(["backfill", "earnings", "--lake", earnings_lake.location]) == 2
    assert capfd.readouterr().err.startswith(f"pitlake: DAGSTER_HOME: {says}; ")


def test_a_dagster_home_that_does_not_open_is_one_line(earnings_lake, home, capfd):
    (home / "dagster.yaml").write_text("nonsense: [1]\n")
    assert invoke(["backfill", "earnings", "--lake", earnings_lake.location]) == 2
    assert "pitlake: DAGSTER_HOME: has no valid dagster.yaml" in capfd.readouterr().err


def test_a_failed_run_of_the_command_says_why_in_a_line(earnings_lake, monkeypatch, capfd):
    def refuse(*_, **__):
        raise LakeConflict("other writers won")

    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.setattr("assets.derived.bundle_assets.earnings_bundles.build", refuse)
    monkeypatch.setattr("assets.derived.bundle_assets.earnings_outcomes.build", refuse)
    assert invoke(["backfill", "earnings", "--lake", earnings_lake.location]) == 1
    said = capfd.readouterr()
    told = said.err.splitlines()
    assert told[0].startswith("run 1 of 1: ")
    assert sorted(told[1:]) == [
        "earnings_outcomes failed: pitlake.errors.LakeConflict: other writers won",
        "earnings_snapshots failed: pitlake.errors.LakeConflict: other writers won",
        "the run's log: name DAGSTER_HOME to keep it",
    ]
    assert "Traceback" not in said.out + said.err
