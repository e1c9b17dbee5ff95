"""Partitions are independent: run singly in a shuffled order, they give the same lake as in one run.

Every dataset runs on a real server, over days with duplicate calls, adjacent holidays, restated facts and gaps.
"""

import random
from datetime import datetime, timezone

import pytest

from assets.graph import all_extractors
from pitlake.datasets import get
from pitlake.lake.lake import Lake
from tests.partitions import run_partitions
from tests.toys import between, seen, stored

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]
OBSERVED = datetime(2026, 1, 1, tzinfo=timezone.utc)
DAYS = between("2024-04-29", "2024-05-10")
NAMES = [name for name in all_extractors() if get(name).partitioned]


@pytest.fixture(scope="module")
def door(story, world):
    with story.graph() as door:
        yield door


@pytest.mark.parametrize("name", NAMES)
def test_partitions_run_singly_in_any_order_give_the_lake_of_a_single_run(door, tmp_path, name):
    whole, parts, extractor = Lake(tmp_path / "whole"), Lake(tmp_path / "parts"), all_extractors()[name]
    run_partitions(extractor, DAYS, door, whole, run_id="whole", observed_at=OBSERVED)
    for day in random.Random(name).sample(DAYS, len(DAYS)):
        run_partitions(extractor, [day], door, parts, run_id=f"on-{day}", observed_at=OBSERVED)
    assert seen(parts, name) == seen(whole, name)
    assert seen(parts, f"gaps/{name}") == seen(whole, f"gaps/{name}")


def test_the_compared_days_have_rows_in_most_datasets(door, tmp_path):
    lake = Lake(tmp_path / "lake")
    for name in NAMES:
        run_partitions(all_extractors()[name], DAYS, door, lake, run_id="r", observed_at=OBSERVED)
    empty = {name for name in NAMES if not stored(lake, name)}
    assert empty <= {"splits", "filing_texts", "embeddings"}
