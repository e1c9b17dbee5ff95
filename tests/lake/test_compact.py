"""Compaction: fewer files, the same rows and answers, one atomic version, and a proof before anything is visible."""

import shutil
from datetime import timedelta

import pyarrow.parquet as pq
import pytest

from pitlake.errors import BadInput, PastChanged
from pitlake.lake import Lake
from pitlake.lake.publishing.stage import StagedGap
from pitlake.lake.tables import compacted
from pitlake.lake.upkeep import merge
from tests.lake.world import TOY, Toy, gaps, publish, rows, utc

FIRST = utc("2024-01-10T12:00:00-05:00")


@pytest.fixture(scope="module")
def twelve_weeks(tmp_path_factory):
    """A lake of three months with revisions, and with one file of rows and one of gaps per week."""
    lake = Lake(tmp_path_factory.mktemp("compact") / "lake")
    for week in range(12):
        at = FIRST + timedelta(weeks=week)
        toys = [Toy(f"{week}{name}", "x", at) for name in "ba"] + [Toy("0a", f"text {week}", FIRST)]
        missing = {at.date(): [StagedGap("no_data", "no text", f"Toy:{week}", at)]}
        publish(lake, toys if week else toys[:2], at + timedelta(hours=1), missing)
    return lake.root


@pytest.fixture
def landed(twelve_weeks, tmp_path):
    """A copy of the lake `twelve_weeks` for one test."""
    return Lake(shutil.copytree(twelve_weeks, tmp_path / "lake"))


def months(lake, table="toys"):
    result = [file.path.split("=")[1][:7] for file in lake.snapshot().files(table)]
    return {month: result.count(month) for month in sorted(set(result))}


def test_compaction_merges_each_month_but_the_newest_into_one_file(landed):
    before, missing = rows(landed), gaps(landed)
    result = landed.compact(TOY)
    assert (result.changed, result.version) == (True, 13)
    assert months(landed) == {"2024-01": 1, "2024-02": 1, "2024-03": 4}
    assert months(landed, "gaps/toys") == {"2024-01": 1, "2024-02": 1, "2024-03": 4}
    assert rows(landed) == before
    assert sorted(map(str, gaps(landed))) == sorted(map(str, missing))
    assert landed.entry().operation == "compact"


@pytest.mark.parametrize("group_rows", [2, 3, compacted.ROW_GROUP_ROWS])
def test_merged_files_are_sorted_by_entity_and_instant(landed, monkeypatch, group_rows):
    """The order also holds if the rows are written in several parts."""
    monkeypatch.setattr(compacted, "ROW_GROUP_ROWS", group_rows)
    monkeypatch.setattr(merge, "GROUPS_AT_ONCE", 1)
    landed.compact(TOY)
    (merged,) = [file for file in landed.snapshot().files("toys") if "2024-01" in file.path]

    result_rows = pq.read_table(merged.path, partitioning=None).to_pylist()
    assert result_rows == sorted(result_rows, key=lambda row: (row["maker"], row["available_at"]))
    assert pq.read_metadata(merged.path).num_row_groups == -(-len(result_rows) // group_rows) > 0


def test_compact_merges_only_the_months_before_the_given_month(landed):
    landed.compact(TOY, before="2024-02")
    assert months(landed)["2024-02"] > 1
    landed.compact(TOY, before="2025-01")
    assert set(months(landed).values()) == {1}


@pytest.mark.parametrize("before", ["2024", "2024-1", "202401", "2024-13", "now"])
def test_an_invalid_month_for_before_is_refused(landed, before):
    with pytest.raises(BadInput, match="before"):
        landed.compact(TOY, before=before)


def test_compacting_again_makes_no_version(landed):
    version = landed.compact(TOY).version
    again = landed.compact(TOY)
    assert (again.changed, again.version, landed.head()) == (False, version, version)


def test_older_versions_read_as_before(landed):
    old = {version: rows(landed, version) for version in range(13)}
    landed.compact(TOY, before="2025-01")
    assert {version: rows(landed, version) for version in range(13)} == old


def test_a_run_after_compaction_finds_compacted_rows_unchanged(landed):
    landed.compact(TOY, before="2025-01")
    at = FIRST + timedelta(weeks=3)
    assert not publish(landed, [Toy("3a", "x", at), Toy("0a", "text 11", FIRST)], utc("2024-06-01T00:00:00Z")).changed


def test_a_merge_that_loses_a_row_raises_and_publishes_no_version(landed, monkeypatch):
    read = merge._rows
    monkeypatch.setattr(merge, "_rows", lambda *inputs: read(*inputs).slice(1))
    before = rows(landed)
    with pytest.raises(PastChanged):
        landed.compact(TOY)
    assert (landed.head(), rows(landed)) == (12, before)


def test_compacting_an_unknown_table_makes_no_version(lake):
    lake.start()
    assert not lake.compact(TOY).changed
