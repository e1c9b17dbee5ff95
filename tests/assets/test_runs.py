"""Runs over a toy source: windows, sweeps, conservation of records, partition order, and sources with wrong counts."""

import errno
import os
import random
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assets.buckets import rows_table
from assets.extraction import Contest, Place, dated
from assets.reading import Spans
from assets.runs import attempt_partitions
from pitlake.errors import BadInput, CheckFailed
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.audit import CheckResult
from pitlake.lake.publishing.refusal import OTHER_DAY, TWO_CONTENTS
from pitlake.lake.storage.log import LakeLog
from pitlake.lake.storage.store import Store
from pitlake.lake.tables.delta import DeltaTables
from tests.partitions import run_partitions
from tests.toys import OBSERVED, TOY, between, seen, stored

MARCH = datetime(2024, 3, 8, tzinfo=timezone.utc)


@pytest.fixture
def publish(lake, toy):
    def run(days, **changes):
        arguments = {"run_id": "r", "observed_at": OBSERVED} | changes
        return run_partitions(arguments.pop("extractor", TOY), days, toy, lake, **arguments)

    return run


def test_every_record_is_a_row_or_a_gap_of_its_own_day(publish, toy, lake):
    toy.write("a", "2024-03-10T01:30:00-05:00")
    toy.write("b", "2024-03-11T00:30:00+00:00")
    toy.write("c", "2024-03-10 noon")
    toy.write("d", "")
    published = publish(between("2024-03-09", "2024-03-11"))
    counts = {day: (count.extracted, count.published, count.gaps) for day, count in published.per_day.items()}
    assert counts == {"2024-03-09": (0, 0, 0), "2024-03-10": (3, 2, 1), "2024-03-11": (0, 0, 0), "undated": (1, 0, 1)}
    assert {gap["locator"]: gap["partition"] for gap in stored(lake, "gaps/notes")} == {
        "toy:c": "2024-03-10",
        "toy:d": "undated",
    }


def test_a_second_run_publishes_nothing(publish, toy):
    for hour in range(20):
        toy.write(f"n{hour}", f"2024-03-10T{hour:02}:00:00-05:00")
    toy.write("lost", None)
    first, second = (
        publish(between("2024-03-09", "2024-03-11")),
        publish(between("2024-03-09", "2024-03-11"), run_id="s"),
    )
    assert (first.changed, second.changed, second.version) == (True, False, first.version)
    assert second.per_day["2024-03-10"].unchanged == 20


def test_query_windows_are_widened_by_a_day_and_grow_while_few_records_arrive(publish, toy):
    publish(between("2024-01-01", "2024-01-30"))
    assert toy.asked == [("2023-12-31", "2024-01-09"), ("2024-01-07", "2024-01-23"), ("2024-01-21", "2024-02-01")]


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    seconds=st.lists(st.integers(0, 5 * 86_400), min_size=1, max_size=12),
    offset=st.integers(-12, 14),
    seed=st.randoms(use_true_random=False),
)
def test_partitions_run_in_any_order_give_the_same_lake_as_all_at_once(tmp_path_factory, toy, seconds, offset, seed):
    toy.notes.clear()
    zone = timezone(timedelta(hours=offset))
    for number, second in enumerate(seconds):
        toy.write(f"n{number}", (MARCH + timedelta(seconds=second)).astimezone(zone).isoformat())
    expected = between("2024-03-06", "2024-03-15")
    root = tmp_path_factory.mktemp("lakes")
    whole, parts = Lake(root / "whole"), Lake(root / "parts")
    run_partitions(TOY, expected, toy, whole, run_id="w", observed_at=OBSERVED)
    for day in seed.sample(expected, len(expected)):
        run_partitions(TOY, [day], toy, parts, run_id=f"p{day}", observed_at=OBSERVED)
    assert seen(parts) == seen(whole)
    assert len(stored(whole)) == len(seconds)


def test_a_changed_record_is_a_revision_dated_when_observed(publish, toy, lake):
    toy.write("a", "2024-03-10T12:00:00-04:00", '{"v":1}')
    publish(between("2024-03-10", "2024-03-10"))
    toy.write("a", "2024-03-10T12:00:00-04:00", '{"v":2}')
    later = OBSERVED + timedelta(hours=1)
    assert publish(between("2024-03-10", "2024-03-10"), run_id="s", observed_at=later).revisions == 1
    assert sorted((row["said"], row["available_at"]) for row in stored(lake))[1] == ('{"v":2}', later)


def test_a_record_in_the_future_is_a_gap(publish, toy, lake):
    toy.write("a", "2026-01-02T12:00:00-04:00")
    publish(between("2026-01-02", "2026-01-02"))
    assert [(gap["gap_type"], gap["available_at"]) for gap in stored(lake, "gaps/notes")] == [
        ("pit_excluded", OBSERVED)
    ]


def test_without_a_set_instant_records_are_observed_by_the_wall_clock(publish, toy, lake):
    before = datetime.now(timezone.utc)
    toy.write("a", "2024-03-10T12:00:00-04:00")
    publish(between("2024-03-10", "2024-03-10"), observed_at=None)
    assert stored(lake)[0]["observed_at"] >= before


def test_days_before_the_first_partition_are_refused(publish):
    with pytest.raises(BadInput, match="begins on 2023-01-01"):
        publish([date(2022, 12, 31)])


DAY = between("2024-03-10", "2024-03-10")


def lost(publish, lake, **changes):
    """Return the reasons and locators of a run's gaps, after checking that only the record `good` is published."""
    count = publish(DAY, **changes).per_day["2024-03-10"]
    assert count.extracted == count.published + count.unchanged + count.gaps
    assert [row["evidence"] for row in stored(lake)] == ["toy:good"]
    return sorted((gap["reason"], gap["locator"]) for gap in stored(lake, "gaps/notes"))


def test_a_source_that_answers_outside_the_requested_window_publishes_nothing(publish, toy, lake):
    toy.obeys = False
    toy.write("a", "2024-03-10T12:00:00-04:00")
    toy.write("z", "2025-06-10T12:00:00-04:00")
    with pytest.raises(CheckFailed) as caught:
        publish(DAY)
    fault = caught.value
    assert (fault.check, fault.facts, fault.examples) == ("partition_window", {"outside": 1}, ("toy:z",))
    assert lake.head() == 0


def test_a_record_filed_under_a_day_other_than_its_availability_is_a_gap(publish, toy, lake):
    toy.write("good", "2024-03-10T12:00:00-04:00")
    toy.write("bad", "2024-03-10T12:00:00-04:00")

    def late(record, run):
        place = TOY.locate(record, run)
        return replace(place, available_at=place.available_at + timedelta(days=3 * (record["id"] == "bad")))

    assert lost(publish, lake, extractor=replace(TOY, locate=late)) == [(OTHER_DAY, "toy:bad")]


def test_a_deeply_nested_forbidden_key_makes_only_its_own_record_a_gap(publish, toy, lake):
    toy.write("good", "2024-03-10T12:00:00-04:00")
    toy.write("bad", "2024-03-10T12:00:00-04:00", '{"a":[{"b":"{\\"Daily_Stock\\":1}"}]}')
    assert lost(publish, lake) == [("refused by the gate: PIT_FORBIDDEN_FIELD", "toy:bad")]


def test_a_naive_timestamp_publishes_nothing(publish, toy, lake):
    toy.write("a", "2024-03-10T12:00:00-04:00")

    def naive(record, _run):
        return Place("toy:a", datetime(2024, 3, 10, 12), date(2024, 3, 10))  # noqa: DTZ001

    with pytest.raises(CheckFailed) as caught:
        publish(DAY, extractor=replace(TOY, locate=naive))
    assert (caught.value.check, caught.value.facts, lake.head()) == ("gate", {"PIT_MISSING_TZ": 1}, 0)


def test_records_with_the_same_key_and_different_content_are_gaps(publish, toy, lake):
    toy.write("good", "2024-03-10T11:00:00-04:00")
    toy.write("a", "2024-03-10T12:00:00-04:00", "1")
    toy.write("b", "2024-03-10T13:00:00-04:00", "2")
    same = replace(TOY, values=lambda record: {"id": record["id"] if record["id"] == "good" else "same",
                                               "said": record["said"]})  # fmt: skip
    assert lost(publish, lake, extractor=same) == [(TWO_CONTENTS, "toy:a"), (TWO_CONTENTS, "toy:b")]


def test_a_report_shows_every_check_but_no_content_of_refused_records(toy, lake):
    toy.write("bad", "2024-03-10T12:00:00-04:00", '{"daily_return":1}')
    report = attempt_partitions(TOY, DAY, toy, lake, run_id="r")
    assert (report.outcome.total.gaps, report.preview.num_rows) == (1, 0)
    checks = {check.name: check for check in report.checks}
    assert {name for name, check in checks.items() if not check.passed} == {"gate"}
    assert (checks["gate"].facts["PIT_FORBIDDEN_FIELD"], checks["gate"].examples) == (1, ("toy:bad",))


def test_too_many_refused_records_are_reported_and_nothing_is_published(toy, lake):
    for number in range(10):
        toy.write(f"bad{number}", "2024-03-10T12:00:00-04:00", '{"daily_return":1}')
    toy.write("good", "2024-03-10T12:00:00-04:00")
    report = attempt_partitions(TOY, DAY, toy, lake, run_id="r")
    assert isinstance(report.outcome, CheckFailed)
    assert {check.name for check in report.checks if not check.passed} == {"gate", "refused_share"}
    assert (lake.head(), report.preview.num_rows) == (0, 0)


def test_a_contest_publishes_the_winner_and_counts_every_other_record(publish, toy, lake):
    for note, message in (("a1", '"x"'), ("a2", '"x"'), ("a3", '"y"'), ("b1", '"z"')):
        toy.write(note, "2024-03-10T12:00:00-04:00", message)
    contested = replace(
        TOY,
        values=lambda record: {"id": record["id"][0], "said": record["said"]},
        contest=Contest(
            group=("id",),
            contender=lambda each: each["id"],
            rank=lambda each: (int(each["id"] == "a2"), 0),
            reason="undated",
        ),
    )
    count = publish(between("2024-03-10", "2024-03-10"), extractor=contested).per_day["2024-03-10"]
    assert (count.extracted, count.published, count.unchanged, count.gaps) == (4, 2, 1, 1)
    assert sorted(row["evidence"] for row in stored(lake)) == ["toy:a2", "toy:b1"]


def test_500_records_over_three_days_are_all_published(publish, toy, lake):
    for number in range(500):
        toy.write(f"n{number:03}", f"2024-03-1{number % 3}T12:00:{number % 60:02}-04:00")
    published = publish(between("2024-03-10", "2024-03-12"))
    assert sum(count.published for count in published.per_day.values()) == len(stored(lake)) == 500


def test_rows_of_a_span_become_a_single_arrow_table_and_stay_on_their_own_days(publish, toy, lake, monkeypatch):
    days = between("2024-03-04", "2024-03-10")
    for day in days[::2]:
        toy.write(f"a{day}", f"{day}T12:00:00-04:00")
        toy.write(f"b{day}", f"{day}T13:00:00-04:00")
    outcome = []
    monkeypatch.setattr("assets.buckets.rows_table", lambda *reply: outcome.append(rows_table(*reply)) or outcome[-1])
    counts = publish(days).per_day
    assert [counts[str(day)].published for day in days] == [2, 0] * 3 + [2]
    assert [table.num_rows for table in outcome] == [8]
    assert {row["evidence"][-10:] for row in stored(lake)} == {str(day) for day in days[::2]}


def test_a_snapshot_is_dated_when_it_was_read(publish, toy, lake):
    toy.write("a", "2024-03-10T12:00:00-04:00")
    extractor = replace(
        TOY,
        dataset=replace(TOY.dataset, partitioned=False),
        windows=("sweep",),
        sweeps=(),
        locate=lambda record, run: dated("toy:a", run.observed_at),
    )
    toy.obeys = False
    before = datetime.now(timezone.utc)
    assert publish([], extractor=extractor, observed_at=None).per_day["undated"].published == 1
    assert stored(lake)[0]["available_at"] >= before
    assert not publish([], extractor=extractor, observed_at=None, run_id="s").changed


@given(st.sets(st.dates(date(2024, 1, 1), date(2024, 3, 1)), max_size=30), st.lists(st.integers(0, 200)))
def test_spans_cover_the_days_exactly_however_many_records_arrive(wanted, came):
    result, arrivals = [], iter(came)
    spans = Spans(random.sample(sorted(wanted), len(wanted)), batch=10)
    for span in spans:
        result += span.days()
        spans.met(next(arrivals, 0))
    assert result == sorted(wanted)


def test_spans_shrink_when_many_records_arrive():
    lengths, spans = [], Spans(between("2024-01-01", "2024-02-20"), batch=10)
    for span, came in zip(spans, [0, 60, 101, 101, 101, 101, 0, 0], strict=False):
        lengths.append(len(span.days()))
        spans.met(came)
    assert lengths == [7, 14, 14, 7, 3, 1, 1, 2]


@pytest.mark.parametrize("step", ["assets.runs.warnings", "pitlake.lake.publishing.check_results.write"])
def test_a_failure_after_the_commit_is_a_note_naming_the_published_version(lake, toy, monkeypatch, caplog, step):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    toy.write("a", "2024-03-10T01:30:00-05:00")
    monkeypatch.setattr(step, full)
    report = attempt_partitions(TOY, between("2024-03-09", "2024-03-11"), toy, lake, run_id="r", observed_at=OBSERVED)
    assert (report.outcome.changed, report.outcome.version, lake.head()) == (True, 1, 1)
    [note] = report.notes
    assert "version 1 is published, but" in note
    assert "No space left on device" in note
    assert note in caplog.messages
    assert len(stored(lake)) == 1


def test_no_store_access_that_can_fail_follows_the_log_entry(lake, toy, monkeypatch):
    toy.write("a", "2024-03-10T01:30:00-05:00")
    append, put = LakeLog.append, []

    def appended(self, *args, **facts):
        put.append(append(self, *args, **facts))
        monkeypatch.setattr(Store, "read", full)
        monkeypatch.setattr(Store, "put_new", full)
        monkeypatch.setattr(DeltaTables, "state", full)
        return put[0]

    def full(*_, **__):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(LakeLog, "append", appended)
    report = attempt_partitions(TOY, between("2024-03-09", "2024-03-11"), toy, lake, run_id="r", observed_at=OBSERVED)
    assert (report.outcome.version, put[0].version) == (1, 1)


def test_a_refused_run_is_audited_only_once(lake, toy):
    """Audits can be slow, for example that of Great Expectations."""
    toy.write("a", "2024-03-10T01:30:00-05:00")
    judged = []

    def refusing(staged, _observed_at):
        judged.append(staged.rows.num_rows)
        return [CheckResult(name="expectations", passed=False, facts={"bad": 1})]

    days = between("2024-03-09", "2024-03-11")
    report = attempt_partitions(TOY, days, toy, lake, run_id="r", observed_at=OBSERVED, audits=(refusing,))
    assert isinstance(report.outcome, CheckFailed)
    assert judged == [1]
    assert [check.name for check in report.checks if not check.passed] == ["expectations"]
    assert {"gate", "row_rules", "conservation"} <= {check.name for check in report.checks if check.passed}
