"""Warnings: the share of edited articles, and questions that were not answered."""

from datetime import datetime, timedelta, timezone

import pyarrow as pa

from checks.warnings import answered, edited, warnings
from pitlake.contract import INSTANT
from pitlake.datasets import get
from pitlake.lake.stage import GAP_STAGED_SCHEMA, Gap

NOON = datetime(2024, 5, 1, 16, tzinfo=timezone.utc)


def articles(*updates):
    return pa.table({"created": pa.array([NOON] * len(updates), INSTANT), "updated": pa.array(list(updates), INSTANT)})


def test_only_a_later_update_is_an_edit():
    found = edited(articles(NOON, None, NOON - timedelta(hours=1), NOON + timedelta(seconds=1)))
    assert (found.passed, found.severity) == (False, "warning")
    assert found.facts == {"articles": 4, "edited": 1, "percent": "25.00"}


def test_no_articles_are_no_edits():
    assert edited(articles()).passed


def gaps(*found):
    return pa.Table.from_pylist([gap.as_row() for gap in found], GAP_STAGED_SCHEMA)


def test_a_question_without_an_answer_is_counted_by_its_reason():
    refused = [Gap("upstream_error", "HTTP 429", f"fred:{number}") for number in range(7)]
    found = answered(gaps(*refused, Gap("upstream_error", "HTTP 503", "fred:x"), Gap("no_data", "empty", "fred:y")))
    assert (found.passed, found.severity, len(found.examples)) == (False, "warning", 5)
    assert found.facts == {"unanswered": 8, "HTTP 429": 7, "HTTP 503": 1}
    assert answered(gaps(Gap("no_data", "empty", "fred:y"))).passed


def test_a_dataset_has_the_warnings_its_contract_names_and_what_is_asked_outside_one_more():
    assert [found.name for found in warnings(get("news"), articles(), gaps())] == ["edited"]
    assert warnings(get("prices"), articles(), gaps()) == ()
    asked = warnings(get("benzinga_news"), articles(), gaps())
    assert [found.name for found in asked] == ["edited", "answered"]
