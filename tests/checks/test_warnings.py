"""Warnings: the share of edited articles, and calls dated before their text can have been read."""

from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest

from checks.warnings import edited, publication_lag, warnings
from pitlake.contract import INSTANT
from pitlake.datasets import get

NOON = datetime(2024, 5, 1, 16, tzinfo=timezone.utc)


def articles(*updates):
    return pa.table({"created": pa.array([NOON] * len(updates), INSTANT), "updated": pa.array(list(updates), INSTANT)})


def test_only_a_later_update_is_an_edit():
    found = edited(articles(NOON, None, NOON - timedelta(hours=1), NOON + timedelta(seconds=1)), timedelta(0))
    assert (found.passed, found.severity) == (False, "warning")
    assert found.facts == {"articles": 4, "edited": 1, "percent": "25.00"}


def test_no_articles_are_no_edits():
    assert edited(articles(), timedelta(0)).passed


@pytest.mark.parametrize(("minutes", "passed"), [(0, False), (29, False), (30, True), (90, True)])
def test_a_lag_below_half_an_hour_is_early(minutes, passed):
    found = publication_lag(articles(), timedelta(minutes=minutes))
    assert (found.passed, found.facts["lag_minutes"]) == (passed, minutes)


def test_a_dataset_has_the_warnings_its_contract_names():
    assert [found.name for found in warnings(get("news"), articles(), timedelta(0))] == ["edited"]
    assert [found.name for found in warnings(get("transcripts"), articles(), timedelta(0))] == ["publication_lag"]
    assert warnings(get("prices"), articles(), timedelta(0)) == ()
