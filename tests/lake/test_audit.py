"""The audit of a whole run: each check fails on its fault, names it, and stops the publish unless it is a warning."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from pitlake.lake.publishing.audit import CheckResult, audit, enforce, freshness, frozen, past_never_changes
from pitlake.lake.publishing.stage import StagedGap
from pitlake.lake.storage.manifest import DataFile, TableState
from tests.lake.world import TOY, Toy, table, utc

DAY = date(2024, 3, 5)
NOON = utc("2024-03-05T12:00:00-05:00")
SEEN = utc("2024-03-06T12:00:00-05:00")


def results(lake, toys, gaps=(), *, extracted=None, day=DAY):
    with lake.stage(TOY, "run") as stage:
        stage.add(day, table(toys), gaps, extracted=len(toys) + len(gaps) if extracted is None else extracted)
        return {result.name: result for result in audit(stage.load(), SEEN)}


@pytest.mark.parametrize(
    ("gap", "fault"),
    [
        (StagedGap("vanished", "no text", "Toy:a"), "unknown_type"),
        (StagedGap("no_data", " ", "Toy:a"), "no_reason"),
        (StagedGap("no_data", "no text", ""), "no_locator"),
        (StagedGap("no_data", "no text", "Toy:a", SEEN + timedelta(seconds=1)), "after_observation"),
    ],
)
def test_a_malformed_gap_or_a_gap_dated_after_the_observation_fails_the_audit(lake, gap, fault):
    result = results(lake, [], [gap])["gaps_well_formed"]
    assert (result.passed, result.facts[fault]) == (False, 1)


@pytest.mark.parametrize("extracted", [0, 1, 3])
def test_a_lost_or_invented_record_is_refused(lake, extracted):
    result = results(lake, [Toy("a", "x", NOON)], [StagedGap("no_data", "no text", "Toy:b")], extracted=extracted)
    assert (result["conservation"].passed, result["conservation"].examples) == (False, ("2024-03-05",))


def test_a_surplus_of_one_day_does_not_make_up_for_the_loss_of_another(lake):
    with lake.stage(TOY, "run") as stage:
        stage.add(DAY, table([Toy("a", "x", NOON)]), extracted=2)
        stage.add(date(2024, 3, 6), table([Toy("b", "x", SEEN)]), extracted=0)
        by_name = {result.name: result for result in audit(stage.load(), SEEN)}
    assert by_name["conservation"].facts["partitions_off"] == 2


def test_a_warning_stops_nothing():
    enforce(TOY, [CheckResult(name="freshness", passed=False, severity="warning")])


@pytest.mark.parametrize(
    ("limit", "newest", "passed"),
    [
        (None, None, True),
        (timedelta(days=1), None, False),
        (timedelta(days=1), NOON, True),
        (timedelta(hours=23), NOON, False),
    ],
)
def test_freshness_warns_when_the_newest_row_is_too_old(limit, newest, passed):
    result = freshness(replace(TOY, freshness=limit), newest, SEEN)
    assert (result.passed, result.severity) == (passed, "warning")


def test_past_never_changes_fails_when_a_file_disappears_or_shrinks():
    file = DataFile("/a", 1, 10, NOON, NOON)
    remaining, grown, empty = TableState((file,)), TableState((file, replace(file, path="/b"))), TableState()
    assert past_never_changes([(remaining, grown), (empty, remaining)]).passed
    assert not past_never_changes([(remaining, empty)]).passed
    assert not past_never_changes([(remaining, TableState((replace(file, size=9),)))]).passed


def test_changed_values_in_frozen_columns_cause_a_warning():
    assert frozen(TOY, 1) == ()
    for changed in (0, 2):
        (result,) = frozen(replace(TOY, frozen=TOY.key), changed)
        assert (result.passed, result.severity, result.facts) == (not changed, "warning", {"changed": changed})
