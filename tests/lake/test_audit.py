"""The audit: each check fails on what it is there for, names it, and stops everything."""

from dataclasses import replace
from datetime import date, timedelta

import pyarrow as pa
import pytest

from pitlake.errors import CheckFailed, GateRefused
from pitlake.lake.publishing.audit import CheckResult, audit, enforce, freshness, frozen, past_never_changes
from pitlake.lake.publishing.stage import StagedGap
from pitlake.lake.storage.manifest import DataFile, TableState
from tests.every import every
from tests.lake.world import HISTORY, TOY, Toy, publish, table, utc

DAY = date(2024, 3, 5)
NOON = utc("2024-03-05T12:00:00-05:00")
SEEN = utc("2024-03-06T12:00:00-05:00")


def results(lake, toys, gaps=(), *, extracted=None, day=DAY, change=lambda told: told, dataset=TOY):
    told = change(table(toys, dataset))
    with lake.stage(dataset, "run") as stage:
        stage.add(day, told, gaps, extracted=len(toys) + len(gaps) if extracted is None else extracted)
        return {result.name: result for result in audit(stage.load(), SEEN)}


def nulled(name):
    def change(told):
        place = told.schema.get_field_index(name)
        return told.set_column(place, name, pa.nulls(told.num_rows, told.schema.field(name).type))

    return change


def test_a_clean_stage_passes_every_check(lake):
    found = results(lake, [Toy("a", "x", NOON)], [StagedGap("no_data", "no text", "Toy:b", NOON)])
    assert list(found) == [
        "gate", "required", "partition_window", "identity_unique", "key_unique", "gaps_well_formed", "conservation",
    ]  # fmt: skip
    assert every(result.passed for result in found.values())


def test_a_row_of_the_future_is_refused_with_its_locator(lake):
    late = Toy("late", "x", SEEN + timedelta(microseconds=1))
    found = results(lake, [Toy("a", "x", NOON), late])["gate"]
    assert (found.passed, found.facts, found.examples) == (False, {"PIT_VIOLATION_GT_CUTOFF": 1}, ("Toy:late",))


def test_a_row_at_the_very_observation_passes(lake):
    assert results(lake, [Toy("a", "x", SEEN)], day=date(2024, 3, 6))["gate"].passed


def test_a_forbidden_key_deep_inside_a_text_is_refused(lake):
    assert results(lake, [Toy("a", '[{"x": {"Daily_Stock": 1}}]', NOON)])["gate"].facts == {"PIT_FORBIDDEN_FIELD": 1}


@pytest.mark.parametrize(
    ("name", "code"), [("available_at", "MISSING_AVAILABLE_AT"), ("available_at_source", "INVALID_AVAILABLE_AT_SOURCE")]
)
def test_missing_clocks_are_the_gates_to_refuse(lake, name, code):
    assert results(lake, [Toy("a", "x", NOON)], change=nulled(name))["gate"].facts == {f"PIT_{code}": 1}


@pytest.mark.parametrize("name", ["key", "evidence"])
def test_a_null_where_a_value_is_required(lake, name):
    found = results(lake, [Toy("a", "x", NOON)], change=nulled(name))["required"]
    assert (found.passed, found.facts) == (False, {name: 1})


def test_blank_evidence_is_none(lake):
    def blank(told):
        return told.set_column(told.schema.get_field_index("evidence"), "evidence", [["", " "]])

    found = results(lake, [Toy("a", "x", NOON), Toy("b", "x", NOON)], change=blank)["required"]
    assert found.facts == {"evidence": 2}


@pytest.mark.parametrize("text", ["2024-03-05T00:00:00-05:00", "2024-03-05T23:59:59.999999-05:00"])
def test_a_partition_holds_its_whole_new_york_day(lake, text):
    assert results(lake, [Toy("a", "x", utc(text))])["partition_window"].passed


@pytest.mark.parametrize("text", ["2024-03-04T23:59:59.999999-05:00", "2024-03-06T00:00:00-05:00"])
def test_a_row_of_another_day_is_refused(lake, text):
    found = results(lake, [Toy("a", "x", utc(text))])["partition_window"]
    assert (found.passed, found.facts, found.examples) == (False, {"rows": 1, "outside": 1}, ("Toy:a",))


def test_the_same_record_twice_is_no_fault(lake):
    found = results(lake, [Toy("a", "x", NOON)] * 3)["identity_unique"]
    assert (found.passed, found.facts["seen_twice"]) == (True, 2)


@pytest.mark.parametrize(
    "other", [Toy("a", "y", NOON), Toy("a", "x", NOON + timedelta(seconds=1))], ids=["content", "instant"]
)
def test_two_records_that_claim_one_identity_are_refused(lake, other):
    found = results(lake, [Toy("b", "x", NOON), Toy("a", "x", NOON), other])["identity_unique"]
    assert (found.passed, found.examples) == (False, ("Toy:a",))


def test_a_history_may_tell_an_identity_once_per_instant(lake):
    told = [Toy("a", "x", NOON), Toy("a", "y", NOON + timedelta(seconds=1))]
    assert results(lake, told, dataset=HISTORY)["identity_unique"].passed
    assert not results(lake, [*told, Toy("a", "z", NOON)], dataset=HISTORY)["identity_unique"].passed


def test_two_answers_to_one_key_are_refused_unless_something_breaks_the_tie(lake):
    by_text = replace(TOY, identity=("key", "text"))
    told = [Toy("a", "x", NOON), Toy("a", "y", NOON)]
    found = results(lake, told, dataset=by_text)
    assert found["identity_unique"].passed
    assert found["key_unique"].facts == {"keys_with_two_answers": 1}
    assert results(lake, told, dataset=replace(by_text, tiebreak=("text",)))["key_unique"].passed


@pytest.mark.parametrize(
    ("gap", "fault"),
    [
        (StagedGap("vanished", "no text", "Toy:a"), "unknown_type"),
        (StagedGap("no_data", " ", "Toy:a"), "no_reason"),
        (StagedGap("no_data", "no text", ""), "no_locator"),
        (StagedGap("no_data", "no text", "Toy:a", SEEN + timedelta(seconds=1)), "after_observation"),
    ],
)
def test_a_gap_that_says_too_little_or_too_early_is_refused(lake, gap, fault):
    found = results(lake, [], [gap])["gaps_well_formed"]
    assert (found.passed, found.facts[fault]) == (False, 1)


@pytest.mark.parametrize("extracted", [0, 1, 3])
def test_a_lost_or_invented_record_is_refused(lake, extracted):
    found = results(lake, [Toy("a", "x", NOON)], [StagedGap("no_data", "no text", "Toy:b")], extracted=extracted)
    assert (found["conservation"].passed, found["conservation"].examples) == (False, ("2024-03-05",))


def test_a_surplus_of_one_day_does_not_make_up_for_the_loss_of_another(lake):
    with lake.stage(TOY, "run") as stage:
        stage.add(DAY, table([Toy("a", "x", NOON)]), extracted=2)
        stage.add(date(2024, 3, 6), table([Toy("b", "x", SEEN)]), extracted=0)
        found = {result.name: result for result in audit(stage.load(), SEEN)}
    assert found["conservation"].facts["partitions_off"] == 2


@pytest.mark.parametrize(
    ("toys", "error"),
    [
        ([Toy("good", "x", NOON), Toy("late", "x", SEEN + timedelta(hours=1))], GateRefused),
        ([Toy("good", "x", NOON), Toy("a", "x", NOON), Toy("a", "y", NOON)], CheckFailed),
    ],
)
def test_one_bad_row_publishes_nothing_of_the_run(lake, toys, error):
    lake.start()
    with pytest.raises(error, match="nothing was published"):
        publish(lake, toys, SEEN)
    assert lake.head() == 0
    assert not (lake.root / "tables").exists()


def test_a_refusal_names_locators_and_no_values(lake):
    with pytest.raises(CheckFailed) as refused:
        publish(lake, [Toy("a", "secret one", NOON), Toy("a", "secret two", NOON)], SEEN)
    assert (refused.value.check, refused.value.examples) == ("identity_unique", ("Toy:a",))
    assert "secret" not in str(refused.value)


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
    found = freshness(replace(TOY, freshness=limit), newest, SEEN)
    assert (found.passed, found.severity) == (passed, "warning")


def test_the_past_changes_when_a_file_goes_or_shrinks():
    file = DataFile("/a", 1, 10, NOON, NOON)
    kept, grown, empty = TableState((file,)), TableState((file, replace(file, path="/b"))), TableState()
    assert past_never_changes([(kept, grown), (empty, kept)]).passed
    assert not past_never_changes([(kept, empty)]).passed
    assert not past_never_changes([(kept, TableState((replace(file, size=9),)))]).passed


def test_what_is_frozen_and_came_out_otherwise_is_warned_of():
    assert frozen(TOY, 1) == ()
    for changed in (0, 2):
        (found,) = frozen(replace(TOY, frozen=TOY.key), changed)
        assert (found.passed, found.severity, found.facts) == (not changed, "warning", {"changed": changed})
