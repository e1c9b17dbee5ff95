"""The acceptance test of extraction: every planted quirk has its expected outcome, and no record is lost, duplicated or
dated early.

It runs on every kind of graph server. Each quirk is a separate test, named by number, dataset and title.
"""

import pyarrow.parquet as pq
import pytest

from assets.graph import all_extractors
from pitlake.datasets import get
from sample.manifest import EVOLVED, EXPECTATIONS, NOT_PLANTED
from tests.every import every
from tests.story import FIRST, TOUCHED, WHOLE, began
from tests.verdicts import Outcomes

pytestmark = [pytest.mark.timeout(1200)]
DATASETS = sorted(all_extractors())


@pytest.fixture(scope="session")
def first(story):
    return Outcomes(story.lake.snapshot(story.first_version), began(story.first_began))


@pytest.fixture(scope="session")
def third(story):
    return Outcomes(story.lake.snapshot(story.third_version), began(story.first_began))


def rows(story, table, version):
    return sum(pq.ParquetFile(file.path).metadata.num_rows for file in story.lake.snapshot(version).files(table))


@pytest.mark.parametrize("expectation", EXPECTATIONS, ids=lambda each: each.name)
def test_every_planted_quirk_has_its_expected_outcome(first, expectation):
    assert first.faults(expectation) == []


@pytest.mark.parametrize("expectation", EVOLVED, ids=lambda each: each.name)
def test_every_quirk_has_its_expected_outcome_after_the_source_changed(third, expectation):
    assert third.faults(expectation) == []


def test_an_undated_change_is_dated_by_the_run_that_observed_it(story):
    older = Outcomes(story.lake.snapshot(story.third_version), began(story.third_began))
    observed = [each for each in EVOLVED if each.revisions and each.revisions[-1].available_at is None]
    assert observed
    for item in observed:
        faults = older.faults(item)
        assert [fault for fault in faults if "observation" not in fault] == []
        assert len(faults) == sum(revision.available_at is None for revision in item.revisions) - 1


def test_every_numbered_quirk_is_planted_or_listed_as_not_planted():
    planted = {each.quirk for each in (*EXPECTATIONS, *EVOLVED)}
    assert planted | NOT_PLANTED.keys() >= set(range(1, 55))


@pytest.mark.parametrize("name", DATASETS)
def test_every_record_of_the_source_is_extracted(story, name):
    extracted = sum(counts[0] for counts in story.second_counts[name].values())
    assert extracted == story.source_records[name]


@pytest.mark.parametrize("name", DATASETS)
def test_every_extracted_record_is_published_unchanged_or_a_gap(story, name):
    for day, (extracted, published, unchanged, gaps) in story.second_counts[name].items():
        assert extracted == published + unchanged + gaps, day
    if get(name).partitioned:
        assert story.second_counts[name].keys() == {*(day.isoformat() for day in WHOLE), "undated"}


@pytest.mark.parametrize("name", DATASETS)
def test_a_second_run_publishes_nothing(story, name):
    assert story.second_version == story.first_version
    assert every(published == 0 for _, published, _, _ in story.second_counts[name].values())


@pytest.mark.parametrize("name", DATASETS)
def test_a_second_runs_unchanged_counts_equal_the_rows_in_the_lake(story, name):
    unchanged, gaps = (sum(counts[at] for counts in story.second_counts[name].values()) for at in (2, 3))
    repeats = unchanged - rows(story, name, story.first_version)
    assert repeats == {"transcripts": 1, "qa_exchanges": 2, "prepared_remarks": 1, "embeddings": repeats}.get(name, 0)
    assert gaps == rows(story, f"gaps/{name}", story.first_version)


def test_every_day_of_the_range_is_materialised(story):
    assert story.days.keys() == {*(DATASETS if story.kind == "neo4j" else TOUCHED[:1])}
    for name, days in story.days.items():
        assert days == [day.isoformat() for day in WHOLE if get(name).partitioned], name


@pytest.mark.parametrize("name", DATASETS)
def test_a_later_run_removes_no_file_of_an_earlier_version(story, name):
    def stored(version):
        return {file.path for file in story.lake.snapshot(version).files(name)}

    assert stored(story.first_version) <= stored(story.third_version)


@pytest.mark.parametrize("name", DATASETS)
def test_no_row_is_dated_before_the_first_day_or_after_it_was_observed(story, name):
    for file in story.lake.snapshot().files(name):
        table = pq.read_table(file.path, columns=["available_at", "observed_at"], partitioning=None)
        pairs = zip(table["available_at"].to_pylist(), table["observed_at"].to_pylist(), strict=True)
        assert every(FIRST.isoformat() <= available.isoformat() and available <= seen for available, seen in pairs)
