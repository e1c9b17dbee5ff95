"""The audit as asset checks: names shared by Dagster and the kernel, severities, and findings without values."""

from dataclasses import replace
from datetime import timedelta

import dagster as dg
import pytest

from assets.runs import attempt_partitions
from checks.audit import BLOCKING, WARNINGS, cannot_fail, check_results, check_specs
from checks.expectations import BLOCKING as EXPECTED
from checks.expectations import WARNING as WARNED
from checks.expectations import expected
from checks.warnings import MEASURES
from pitlake.datasets import all_datasets
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.audit import CheckResult
from tests.every import every
from tests.toys import NOTES, TOY, ToyGraph, between


@pytest.fixture
def report(tmp_path):
    toy = ToyGraph()
    toy.write("a", "2024-03-10T12:00:00-04:00")
    days, lake = between("2024-03-10", "2024-03-10"), Lake(tmp_path / "lake")
    return attempt_partitions(TOY, days, toy, lake, run_id="r", audits=(expected,))


def test_a_run_measures_exactly_the_checks_that_are_declared(report):
    measured = [check.name for check in report.checks if check.name not in cannot_fail(NOTES)]
    assert sorted(measured) == sorted(spec.name for spec in check_specs(NOTES))


def test_checks_with_nothing_to_examine_are_shown_only_when_they_fail():
    assert cannot_fail(NOTES) == {"freshness", WARNED}
    assert cannot_fail(all_datasets()["sec_facts"]) >= {"partition_window", "unread"}
    display = [
        [each.passed for each in check_results(NOTES, [CheckResult(name="freshness", passed=passed)])]
        for passed in (True, False)
    ]
    assert display == [[], [False]]


def test_checks_block_in_dagster_exactly_when_they_block_in_the_kernel(report):
    blocking = {spec.name: spec.blocking for spec in check_specs(NOTES)}
    measured = {check.name: check.severity == "blocking" for check in report.checks}
    assert blocking.items() <= measured.items()


@pytest.mark.parametrize("name", all_datasets())
def test_every_warning_of_a_contract_is_declared_and_measured(name):
    for warning in all_datasets()[name].warnings:
        assert warning in WARNINGS
        assert warning in MEASURES


def test_every_check_has_a_description():
    groups = ("external", "graph")
    changes = {"warnings": tuple(MEASURES), "frozen": ("id",), "freshness": timedelta(days=1)}
    datasets = [replace(NOTES, group=group, **changes) for group in groups]
    specs = [spec for dataset in datasets for spec in check_specs(dataset)]
    assert {spec.name for spec in specs} == {*BLOCKING, *WARNINGS, EXPECTED}
    reply = {spec.name: spec.description for spec in specs}
    assert every(reply[name].endswith(".") for name in {*BLOCKING, *WARNINGS})
    assert "- one row per id\n" in reply[EXPECTED]
    assert "- said is JSON" in reply[EXPECTED]


def test_a_finding_is_shown_with_its_facts_and_where_to_look():
    result = CheckResult(
        name="gate", passed=False, facts={"PIT_MISSING_TZ": 2, "why": "x"}, examples=("toy:a", "toy:b")
    )
    (display,) = check_results(NOTES, [result])
    assert (display.passed, display.severity, display.check_name) == (False, dg.AssetCheckSeverity.ERROR, "gate")
    assert display.metadata["PIT_MISSING_TZ"].value == 2
    assert display.metadata["examples"].value == "- `toy:a`\n- `toy:b`"


def test_a_warning_does_not_look_like_an_error():
    result = CheckResult(name="freshness", passed=False, severity="warning", facts={})
    (display,) = check_results(NOTES, [result])
    assert display.severity == dg.AssetCheckSeverity.WARN
    assert "examples" not in display.metadata


def test_freshness_warns_of_old_news_only_where_a_contract_sets_a_limit(tmp_path):
    toy = ToyGraph()
    toy.write("a", "2024-03-10T12:00:00-04:00")
    limited = replace(TOY, dataset=replace(NOTES, freshness=timedelta(days=3)))
    for number, (extractor, passed) in enumerate(((TOY, True), (limited, False))):
        lake = Lake(tmp_path / str(number))
        report = attempt_partitions(extractor, between("2024-03-10", "2024-03-10"), toy, lake, run_id="r")
        (freshness,) = (check for check in report.checks if check.name == "freshness")
        assert freshness.passed is passed
        assert lake.head() == 1
