"""One asset in Dagster: its materialisations and metadata, and that a refused run leaves no trace in the lake."""

from dataclasses import replace
from datetime import datetime, timedelta

import dagster as dg
import pytest

from assets.extraction import Place
from assets.factory import SOURCE, graph_asset
from assets.graph import all_extractors
from assets.lineage import column_lineage
from checks.audit import BLOCKING
from pipelines.partitions import DAYS
from resources.lake import LakeResource
from resources.settings import ExtractionSettings
from tests.every import every
from tests.toys import NOTES, TOY, ToyResource, between, stored


def evaluations(result):
    return {actual.check_name: actual for actual in result.get_asset_check_evaluations()}


def materialised(instance):
    return instance.get_materialized_partitions(dg.AssetKey("notes"))


def test_a_range_is_a_single_commit_and_materialises_every_day(materialise, toy, lake, instance):
    toy.write("a", "2024-03-10T12:00:00-04:00")
    toy.write("b", "2024-03-12T12:00:00-04:00")
    toy.write("c", "")
    assert materialise("2024-03-10", "2024-03-12").success
    assert (lake.head(), len(stored(lake))) == (1, 2)
    assert materialised(instance) == {day.isoformat() for day in between("2024-03-10", "2024-03-12")}


def test_a_materialization_shows_counts_preview_evidence_and_gaps(materialise, toy):
    toy.write("a", "2024-03-10T12:00:00-04:00", '{"said":"x|y"}')
    toy.write("c", "")
    result = materialise("2024-03-10", "2024-03-10")
    display = result.asset_materializations_for_node("notes")[0].metadata
    numbers = {
        name: display[name].value for name in ("run extracted", "run published", "run gaps", "lake version", "gaps")
    }
    assert numbers == {"run extracted": 2, "run published": 1, "run gaps": 1, "lake version": 1, "gaps": 0}
    assert "x\\|y" in display["preview"].value
    assert display["evidence"].value == "- `toy:a`"
    assert [record.data["reason"] for record in display["gaps by reason"].records] == ["undated"]


def test_a_run_records_the_lineage_of_each_column(materialise, toy):
    toy.write("a", "2024-03-10T12:00:00-04:00")
    query = "MATCH (n:Note)-[s:SAID]->() RETURN n.id AS id, [s.first, s[0]] + n.text AS said, n.at AS at, n.id AS more"
    result = materialise("2024-03-10", "2024-03-10", replace(TOY, windows=(query,)))
    reply = result.asset_materializations_for_node("notes")[0].metadata["dagster/column_lineage"].value
    read = {name: [(each.asset_key.path, each.column_name) for each in of] for name, of in reply.deps_by_column.items()}
    graph = ["source_graph"]
    assert read == {"id": [(graph, "Note.id")], "said": [(graph, "Note.text"), (graph, "SAID.first")]}


def test_most_graph_columns_have_column_lineage():
    reply = {name: column_lineage(each, SOURCE.key).deps_by_column for name, each in all_extractors().items()}
    assert [ticker.column_name for ticker in reply["news"]["tickers"]] == ["Company.ticker"]
    assert [each.column_name for each in reply["embeddings"]["vector"]] == ["News.embedding", "QAExchange.embedding"]
    assert every(reply.values())
    assert sum(map(len, reply.values())) >= 0.7 * sum(
        len(extractor.dataset.columns) for extractor in all_extractors().values()
    )


def test_each_day_shows_its_own_counts(materialise, toy, instance):
    toy.write("a", "2024-03-10T12:00:00-04:00")
    materialise("2024-03-10", "2024-03-11")
    records = instance.fetch_materializations(dg.AssetKey("notes"), limit=10).records
    counts = {record.partition_key: record.asset_materialization.metadata["published"].value for record in records}
    assert counts == {"2024-03-10": 1, "2024-03-11": 0}


def test_every_check_is_evaluated_and_passes(materialise, toy):
    toy.write("a", "2024-03-10T12:00:00-04:00")
    result = evaluations(materialise("2024-03-10", "2024-03-10"))
    assert set(result) == {*BLOCKING, "expectations"}
    assert every(each.passed for each in result.values())


NAIVE = datetime(2024, 3, 10, 12)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("lie", "check", "code"),
    [
        ({"locate": lambda *_: Place("toy:bad", NAIVE, NAIVE.date())}, "gate", "PIT_MISSING_TZ"),
        ({"at": "2024-06-10T12:00:00-04:00"}, "partition_window", "outside"),
    ],
    ids=["naive timestamp", "answer to another question"],
)
def test_a_run_with_a_failed_blocking_check_publishes_and_materialises_nothing(
    materialise, toy, lake, instance, lie, check, code
):
    toy.obeys = False
    toy.write("good", "2024-03-10T12:00:00-04:00")
    toy.write("bad", lie.get("at", "2024-03-10T12:00:00-04:00"))
    extractor = replace(TOY, locate=lie["locate"]) if "locate" in lie else TOY
    result = materialise("2024-03-10", "2024-03-10", extractor)
    assert not result.success
    assert (lake.head(), materialised(instance)) == (0, set())
    failed = evaluations(result)[check]
    assert not failed.passed
    assert code in failed.metadata
    assert "locate" in lie or "toy:bad" in failed.metadata["examples"].value


def test_a_run_logs_its_counts_and_its_version_in_one_line(materialise, toy, capfd):
    toy.write("good", "2024-03-10T12:00:00-04:00")
    toy.write("bad", "2024-03-10T12:00:00-04:00", '{"a":[{"Session_Macro":"canary"}]}')
    toy.write("undated", "")
    for counts in (
        "extracted 3, published 1, unchanged 0, gaps 2, refused 1; lake version 1",
        "extracted 3, published 0, unchanged 1, gaps 2, refused 1; no new version",
    ):
        materialise("2024-03-10", "2024-03-10")
        (line,) = [line for line in capfd.readouterr().err.splitlines() if " - INFO - " in line]
        assert line.endswith(f" - notes - {counts}")


def test_a_refused_record_is_reported_and_the_others_are_published(materialise, toy, lake, capfd):
    toy.write("good", "2024-03-10T12:00:00-04:00")
    toy.write("bad", "2024-03-10T12:00:00-04:00", '{"a":[{"Session_Macro":"canary"}]}')
    result = materialise("2024-03-10", "2024-03-10")
    assert result.success
    assert [row["evidence"] for row in stored(lake)] == ["toy:good"]
    display = evaluations(result)["gate"]
    assert (display.passed, display.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert display.metadata["PIT_FORBIDDEN_FIELD"].value == 1
    assert display.metadata["examples"].value == "- `toy:bad`"
    logged = capfd.readouterr().err
    assert "notes: gate refused records, which are gaps now: PIT_FORBIDDEN_FIELD=1, such as toy:bad" in logged
    assert "canary" not in logged


def test_a_failure_for_too_many_refused_records_shows_codes_but_no_values(materialise, toy):
    for number in range(10):
        toy.write(f"bad{number}", "2024-03-10T12:00:00-04:00", '{"daily_return":"canary"}')
    event = materialise("2024-03-10", "2024-03-10").failure_data_for_node("notes")
    assert "PIT_FORBIDDEN_FIELD=10" in str(event.user_failure_data.description)
    assert "toy:bad0" in str(event.user_failure_data.description)
    assert "canary" not in str(event)


def test_a_corrected_record_is_published_by_the_next_run(materialise, toy, lake):
    toy.write("bad", "2024-03-10T12:00:00-04:00", '{"daily_return":1}')
    assert materialise("2024-03-10", "2024-03-10").success
    assert [gap["locator"] for gap in stored(lake, "gaps/notes")] == ["toy:bad"]
    toy.write("bad", "2024-03-10T12:00:00-04:00", '{"fine":1}')
    assert materialise("2024-03-10", "2024-03-10").success
    assert [row["said"] for row in stored(lake)] == ['{"fine":1}']


def test_an_unusable_lag_is_refused_before_anything_is_read(materialise, toy, lake):
    assert not materialise("2024-03-10", "2024-03-10", lag=2000).success
    assert toy.asked == []


def test_an_open_only_dataset_has_no_preview(materialise, toy):
    toy.write("a", "2024-03-10T12:00:00-04:00", '{"x":1}')
    result = materialise("2024-03-10", "2024-03-10", replace(TOY, dataset=replace(NOTES, open_only=True)))
    assert result.asset_materializations_for_node("notes")[0].metadata["preview"].value == "none"


def test_checks_on_a_missing_lake_fail_without_retries_and_with_the_reason(toy, tmp_path, instance):
    asset = graph_asset(TOY, DAYS)
    resources = {"graph": ToyResource(), "lake": LakeResource(root=str(tmp_path)), "settings": ExtractionSettings()}
    job = dg.Definitions([asset], resources=resources).resolve_implicit_global_asset_job_def()
    alone = job.get_subset(asset_selection=set(), asset_check_selection=set(asset.check_keys))
    result = alone.execute_in_process(instance=instance, raise_on_error=False)
    assert "there is no lake" in str(result.failure_data_for_node("notes").user_failure_data.description)
    assert not result.retry_attempts_for_node("notes")


def test_checks_can_run_without_a_run_of_their_asset(materialise, toy, lake, instance, capfd):
    toy.write("a", "2024-03-10T12:00:00-04:00")
    assert materialise("2024-03-10", "2024-03-10").success
    columns = (replace(NOTES.columns[0], pattern="z+"), *NOTES.columns[1:])
    stricter = replace(TOY, dataset=replace(NOTES, columns=columns, freshness=timedelta(days=1)))
    asset = graph_asset(stricter, DAYS)
    resources = {"graph": ToyResource(), "lake": LakeResource(root=str(lake.root)), "settings": ExtractionSettings()}
    job = dg.Definitions([asset], resources=resources).resolve_implicit_global_asset_job_def()
    alone = job.get_subset(asset_selection=set(), asset_check_selection=set(asset.check_keys))
    result = alone.execute_in_process(instance=instance)
    assert "not checked, because only a run of the asset can: conservation, " in capfd.readouterr().err
    assert {name: check.passed for name, check in evaluations(result).items()} == {
        "expectations": True, "expectation_warnings": False, "freshness": False,
    }  # fmt: skip
    assert (lake.head(), asset.can_subset) == (1, True)
