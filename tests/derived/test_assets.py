"""Assets of derived datasets: each depends on the datasets it reads, and runs by itself with all of its checks."""

import dagster as dg
import pytest

from assets.derived import earnings_events
from assets.derived.factory import derived_assets
from pipelines.earnings import register
from pipelines.partitions import EARNINGS_SET
from pitlake.lake.publishing.audit import CheckResult
from resources.lake import LakeResource
from tests.derived.test_earnings_events import release

ASSETS = {asset.key.path[0]: asset for asset in derived_assets(register)}


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("earnings_events", set(earnings_events.READS)),
        ("names", {"sec_filings", "universe_events", "xbrl_facts", "companies"}),
    ],
)
def test_a_derived_asset_depends_on_every_dataset_it_reads(name, reads):
    assert {key.path[0] for key in ASSETS[name].asset_deps[dg.AssetKey(name)]} == reads


@pytest.mark.parametrize("name", ["names", "earnings_events", "drift"])
def test_a_derived_asset_runs_with_all_of_its_checks(lake, put, monkeypatch, name):
    met = (CheckResult(name="expectations", passed=True), CheckResult(name="expectation_warnings", passed=True))
    monkeypatch.setattr("assets.derived.factory.expected", lambda _staged, _observed_at: met)  # slow to import
    put("reports", release())
    with dg.DagsterInstance.ephemeral() as instance:
        resources = {"lake": LakeResource(root=str(lake.root))}
        result = dg.materialize([ASSETS[name]], resources=resources, instance=instance)
        partitions = instance.get_dynamic_partitions(EARNINGS_SET)
    assert result.success
    assert [key.partition("|")[2] for key in partitions] == (["AAPL"] if name == "earnings_events" else [])
    evaluated = {evaluation.check_name for evaluation in result.get_asset_check_evaluations()}
    assert evaluated == {spec.name for spec in ASSETS[name].check_specs}
