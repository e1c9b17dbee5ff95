"""Publishing: which records become rows or revisions, when they are available, and what the result reports."""

import os
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pitlake import clock
from pitlake.contract import GAP_SCHEMA
from pitlake.errors import BadInput, LakeNotFound, PastChanged
from pitlake.lake import Lake
from pitlake.lake.publishing import diff, hash_index
from pitlake.lake.publishing.audit import CheckResult
from pitlake.lake.publishing.publish import DayCount
from pitlake.lake.publishing.stage import StagedGap
from tests.every import every
from tests.lake.world import BY_COLUMN, HISTORY, KINDS, TOY, Oracle, Toy, data_files, gaps, publish, rows, table, utc

NOON = utc("2024-03-05T12:00:00-05:00")
DAY = date(2024, 3, 5)
SEEN = utc("2024-03-06T12:00:00-05:00")
LATER = utc("2024-04-02T12:00:00-04:00")
A, B = Toy("a", "x", NOON), Toy("b", "x", NOON + timedelta(hours=1))


def dated_rows(lake, dataset=TOY):
    return [(row.key, row.text, row.available_at) for row in rows(lake, dataset=dataset)]


def test_opening_a_missing_lake_creates_no_folder(tmp_path):
    with pytest.raises(LakeNotFound):
        Lake(tmp_path / "nowhere").head()
    assert not (tmp_path / "nowhere").exists()


def test_new_records_are_published_with_the_dates_of_their_source(lake):
    result = publish(lake, [A, B], SEEN, {DAY: [StagedGap("no_data", "no text", "Toy:c")]})
    assert dated_rows(lake) == [("a", "x", NOON), ("b", "x", B.available_at)]
    assert (result.version, result.changed, result.revisions) == (1, True, 0)
    assert result.per_day == {"2024-03-05": DayCount(extracted=3, published=2, unchanged=0, gaps=1)}
    assert (result.gaps, result.new_gaps, result.files) == ({"no_data": 1}, 1, 2)
    assert result.bytes == sum(path.stat().st_size for path in data_files(lake))
    assert every(check.passed for check in result.checks)


def test_a_second_run_publishes_nothing_and_makes_no_version(lake):
    missing = {DAY: [StagedGap("no_data", "no text", "Toy:c")]}
    publish(lake, [A, B], SEEN, missing)
    files = data_files(lake)
    again = publish(lake, [A, B], LATER, missing)
    assert (again.version, again.changed, again.files, again.new_gaps) == (1, False, 0, 0)
    assert again.total == DayCount(extracted=3, published=0, unchanged=2, gaps=1)
    assert (lake.head(), data_files(lake)) == (1, files)


def test_an_empty_run_makes_no_version(lake):
    assert not publish(lake, [], SEEN).changed


def test_a_version_that_would_lose_files_is_not_published(lake, monkeypatch):
    publish(lake, [A], SEEN)
    lost = CheckResult(name="past_never_changes", passed=False, severity="blocking", facts={})
    monkeypatch.setattr("pitlake.lake.publishing.publish.past_never_changes", lambda _states: lost)
    with pytest.raises(PastChanged, match="files of lake version 1 would be lost"):
        publish(lake, [B], SEEN)
    assert lake.head() == 1


def test_a_published_version_is_forced_to_the_disk(lake, monkeypatch):
    forced = set()
    monkeypatch.setattr(os, "fsync", lambda handle: forced.add(os.fstat(handle).st_ino))
    publish(lake, [A], SEEN)
    (file,) = lake.snapshot().files("toys")
    commits = lake.root / "tables/toys/_delta_log"
    due = (Path(file.path), commits, *commits.glob("*.json"), lake.root / "_lake/log")
    assert {path.stat().st_ino for path in due} <= forced


@pytest.mark.parametrize("name", ["a", "other"])
def test_a_record_that_an_earlier_gap_names_is_available_when_observed(lake, name):
    dataset = replace(TOY, gap_names=("Gap of {key}",))
    publish(lake, [], SEEN, {DAY: [StagedGap("no_data", "no text", f"Gap of {name}", NOON)]}, dataset)
    publish(lake, [A], LATER, dataset=dataset)
    assert dated_rows(lake) == [("a", "x", LATER if name == "a" else NOON)]


def test_changed_content_is_a_revision_available_when_observed(lake):
    publish(lake, [A, B], SEEN)
    result = publish(lake, [A._replace(text="y"), B], LATER)
    assert dated_rows(lake) == [("a", "x", NOON), ("a", "y", LATER), ("b", "x", B.available_at)]
    assert result.per_day == {"2024-03-05": DayCount(extracted=2, published=1, unchanged=1, gaps=0)}
    assert result.revisions == 1


@pytest.mark.parametrize("revised_at", ["", "available_at"])
def test_a_change_in_a_proof_column_alone_is_no_revision(lake, revised_at):
    columns = (*TOY.columns[:-1], replace(TOY.columns[-1], proof=True))
    proven = replace(TOY, columns=columns, revised_at=revised_at)
    publish(lake, [A._replace(revised=SEEN), A], SEEN, dataset=proven)
    assert not publish(lake, [A._replace(revised=LATER)], LATER, dataset=proven).changed
    publish(lake, [A._replace(revised=LATER, text="y")], LATER, dataset=proven)
    assert [(row.text, row.revised, row.available_at) for row in rows(lake)] == [("x", SEEN, NOON), ("y", LATER, LATER)]


def test_content_that_returns_to_an_earlier_value_is_a_revision(lake):
    for text, seen in (("x", SEEN), ("y", LATER), ("x", LATER + timedelta(days=1))):
        publish(lake, [A._replace(text=text)], seen)
    assert [row[1] for row in sorted(dated_rows(lake), key=lambda row: row[2])] == ["x", "y", "x"]
    assert not publish(lake, [A], LATER + timedelta(days=2)).changed


def test_contents_that_alternate_within_one_instant_are_kept_once_each(lake):
    for text in "xyxyxy":
        publish(lake, [A._replace(text=text)], SEEN)
    assert sorted(dated_rows(lake)) == [("a", "x", NOON), ("a", "x", SEEN), ("a", "y", SEEN)]


@pytest.mark.parametrize(
    ("revised", "available"),
    [
        (SEEN + timedelta(microseconds=1),) * 2,
        (SEEN, LATER),
        (NOON, LATER),
        (None, LATER),
        (LATER + timedelta(seconds=1), LATER),
        (LATER, LATER),
    ],
    ids=["later than the look", "at the look", "not later", "unstated", "in the future", "at the observation"],
)
def test_a_change_is_available_at_its_source_date_if_that_date_is_credible(lake, revised, available):
    publish(lake, [A], SEEN, dataset=BY_COLUMN)
    publish(lake, [A._replace(text="y", revised=revised)], LATER, dataset=BY_COLUMN)
    assert ("a", "y", available) in dated_rows(lake)


def test_a_dated_change_is_never_available_before_its_record(lake):
    publish(lake, [A], SEEN, dataset=BY_COLUMN)
    moved = Toy("a", "y", LATER - timedelta(days=1), revised=SEEN + timedelta(hours=1))
    publish(lake, [moved], LATER, dataset=BY_COLUMN)
    assert ("a", "y", moved.available_at) in dated_rows(lake)


def test_a_history_dates_each_statement_by_its_own_instant_even_if_found_late(lake):
    newer = Toy("a", "y", SEEN)
    publish(lake, [newer], LATER, dataset=HISTORY)
    publish(lake, [A, newer], LATER, dataset=HISTORY)
    assert dated_rows(lake) == [("a", "x", NOON), ("a", "y", SEEN)]
    assert not publish(lake, [A, newer], LATER + timedelta(days=1), dataset=HISTORY).changed


def test_a_replaced_statement_of_a_history_is_a_revision_when_observed(lake):
    publish(lake, [A], SEEN, dataset=HISTORY)
    publish(lake, [A._replace(text="y")], LATER, dataset=HISTORY)
    assert dated_rows(lake) == [("a", "x", NOON), ("a", "y", LATER)]
    assert not publish(lake, [A._replace(text="y")], LATER + timedelta(days=1), dataset=HISTORY).changed


@pytest.mark.parametrize("order", [1, -1])
def test_a_correction_equal_to_a_statement_in_content_and_date_is_stored_once(lake, order):
    publish(lake, [A], SEEN, dataset=HISTORY)
    corrections = [A._replace(text="y"), A._replace(text="y", available_at=LATER)]
    done = publish(lake, corrections[::order], LATER, dataset=HISTORY)
    assert (done.total.published, done.total.unchanged, done.revisions) == (1, 1, 0)
    assert [(row.text, row.available_at) for row in rows(lake, dataset=HISTORY)] == [("x", NOON), ("y", LATER)]


def test_a_correction_survives_when_another_with_the_same_content_is_overruled(lake):
    """Both corrections are dated by their observation. A later poll of only the first one's day saw new content."""
    days = [NOON + timedelta(days=number) for number in range(4)]
    publish(lake, [B, Toy("c", "z", days[3])], days[3], dataset=HISTORY)
    publish(lake, [A, Toy("c", "x", days[1])], days[1], dataset=HISTORY)
    corrections = [A._replace(text="y"), A._replace(text="y", available_at=days[1])]
    publish(lake, corrections, days[2], dataset=HISTORY)
    assert ("y", days[2]) in [(row.text, row.available_at) for row in rows(lake, dataset=HISTORY)]


def test_statements_replaced_by_one_content_become_one_revision(lake):
    publish(lake, [A, Toy("a", "y", SEEN)], SEEN, dataset=HISTORY)
    total = publish(lake, [A._replace(text="z"), Toy("a", "z", SEEN)], LATER, dataset=HISTORY).total
    assert (total.published, total.unchanged) == (1, 1)
    assert dated_rows(lake) == [("a", "x", NOON), ("a", "y", SEEN), ("a", "z", LATER)]


def test_equal_statements_dated_by_the_same_observation_are_a_single_revision(lake):
    earlier = NOON - timedelta(days=1)
    other = Toy("b", "x", earlier)
    publish(lake, [A, other], SEEN, dataset=HISTORY)
    publish(lake, [A._replace(text="y"), A._replace(text="y", available_at=earlier), other], LATER, dataset=HISTORY)
    assert [row.available_at for row in rows(lake) if row.text == "y"] == [LATER]


def test_a_replayed_older_observation_is_compared_with_the_rows_of_its_time(lake):
    publish(lake, [A], SEEN)
    publish(lake, [A._replace(text="y")], LATER)
    assert not publish(lake, [A], SEEN).changed
    publish(lake, [A._replace(text="between")], SEEN + timedelta(days=1))
    assert ("a", "between", SEEN + timedelta(days=1)) in dated_rows(lake)


def test_null_is_an_ordinary_value_in_contents_and_keys(lake):
    loose = replace(TOY, key=("key", "text"), identity=("key", "text"))
    toys = [A._replace(text=None), A._replace(text="")]
    assert publish(lake, toys, SEEN, dataset=loose).total.published == 2
    assert publish(lake, toys, LATER, dataset=loose).total.unchanged == 2


def test_the_same_record_extracted_twice_counts_as_unchanged(lake):
    assert publish(lake, [A, A, B], SEEN).total == DayCount(extracted=3, published=2, unchanged=1, gaps=0)


def test_a_known_gap_is_not_published_again_and_stays_when_its_record_appears(lake):
    missing = StagedGap("no_data", "no text", "Toy:a")
    publish(lake, [], SEEN, {DAY: [missing, missing]})
    result = publish(lake, [A], LATER, {DAY: [missing]})
    assert (result.new_gaps, result.total.gaps) == (0, 1)
    assert [(gap["locator"], gap["available_at"]) for gap in gaps(lake)] == [("Toy:a", SEEN)]


def test_a_gap_has_its_partition_and_the_instant_it_becomes_available(lake):
    publish(
        lake,
        [],
        SEEN,
        {DAY: [StagedGap("no_data", "no text", "Toy:a", NOON)], None: [StagedGap("unverifiable", "undated", "Toy:b")]},
    )
    first, second = sorted(gaps(lake), key=lambda gap: gap["locator"])
    assert list(first) == GAP_SCHEMA.names
    assert (first["partition"], first["available_at"], first["observed_at"]) == ("2024-03-05", NOON, SEEN)
    assert (second["partition"], second["available_at"], second["run_id"]) == ("undated", SEEN, "run")


def test_a_dataset_without_partitions_takes_rows_without_a_day(lake):
    snapshot = replace(TOY, partitioned=False)
    with lake.stage(snapshot, "run") as stage:
        stage.add(None, table([A._replace(available_at=SEEN)]), extracted=1)
        assert lake.publish(stage, SEEN).per_day == {"undated": DayCount(1, 1, 0, 0)}


def test_an_observation_in_the_future_is_refused(lake):
    with pytest.raises(BadInput, match="observed_at"):
        publish(lake, [A], clock.now() + timedelta(hours=1))


def test_rows_lie_in_their_new_york_month_sorted_by_entity_and_instant(lake):
    edge = utc("2024-03-31T23:59:59.999999-04:00")
    toys = [Toy(f"{number}{maker}", "x", edge + timedelta(hours=number - 2)) for number in range(4) for maker in "zya"]
    publish(lake, toys, LATER)
    months = {}
    for file in lake.snapshot().files("toys"):
        result_rows = pq.read_table(file.path, partitioning=None).to_pylist()
        months[file.path.split("=")[1][:7]] = result_rows
        assert result_rows == sorted(result_rows, key=lambda row: (row["maker"], row["available_at"]))
    assert {month: len(result) for month, result in months.items()} == {"2024-03": 9, "2024-04": 3}


def test_files_hold_exactly_the_contracts_columns(lake):
    publish(lake, [A], SEEN)
    (file,) = lake.snapshot().files("toys")
    stored = pq.read_schema(file.path)
    assert stored.remove_metadata() == TOY.arrow_schema
    assert [field.nullable for field in stored] == [field.nullable for field in TOY.arrow_schema]


def test_bounds_enclose_the_microseconds_that_delta_cuts_off(lake):
    publish(lake, [A._replace(available_at=NOON + timedelta(microseconds=1))], SEEN)
    (file,) = lake.snapshot().files("toys")
    assert (file.lo, file.hi) == (NOON, NOON + timedelta(milliseconds=1))


def test_an_older_version_shows_the_same_rows_after_a_later_publish(lake):
    publish(lake, [A], SEEN)
    before = rows(lake, 1)
    publish(lake, [A._replace(text="y"), B], LATER)
    assert rows(lake, 1) == before
    assert [entry.version for entry in lake.versions()] == [2, 1, 0]
    assert lake.entry(2).counts == {"published": 2, "revisions": 1, "gaps": 0}


def test_a_snapshot_does_not_change_when_a_new_version_is_published(lake):
    publish(lake, [A], SEEN)
    content = lake.snapshot()
    publish(lake, [B], LATER)
    assert [file.rows for file in content.files("toys")] == [1]
    assert content.files("gaps/toys") == ()


texts = st.sampled_from("xyz")
instants = st.integers(0, 5).map(lambda place: NOON + timedelta(days=place))


@pytest.mark.parametrize("many", [hash_index.MANY, 0])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(sorted(KINDS)),
    st.lists(st.lists(st.tuples(st.sampled_from("ab"), texts, instants, st.none() | instants)), min_size=1, max_size=4),
    st.data(),
)
def test_any_sequence_of_runs_ends_with_the_rows_of_the_oracle(tmp_path_factory, monkeypatch, many, kind, runs, data):
    """many: the number of rows from which a run is compared with whole files."""
    monkeypatch.setattr(hash_index, "MANY", many)
    monkeypatch.setattr(diff, "MANY", many)
    lake, oracle = Lake(tmp_path_factory.mktemp("lake")), Oracle(kind)
    for run in runs:
        unique = {(key, at if kind == "history" else ""): Toy(key, text, at, revised) for key, text, at, revised in run}
        toys = list(unique.values())
        latest = max((toy.available_at for toy in toys), default=NOON)
        seen = latest + timedelta(hours=data.draw(st.integers(0, 100)))
        total = publish(lake, toys, seen, dataset=KINDS[kind]).total
        assert (total.published, total.unchanged) == oracle.publish(toys, seen)
    assert rows(lake, dataset=KINDS[kind]) == oracle.rows
