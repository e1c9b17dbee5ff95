"""Warnings: the share of edited articles, and unanswered requests."""

from datetime import date, datetime, timedelta, timezone

import pyarrow as pa
import pytest

from checks.warnings import answered, basis_proven, edited, warnings
from pitlake.contract import INSTANT
from pitlake.datasets import get
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.stage import GAP_STAGED_SCHEMA, StagedGap
from tests.derived.test_splits import DAYS, Upstream

NOON = datetime(2024, 5, 1, 16, tzinfo=timezone.utc)


def articles(*updates):
    return pa.table({"created": pa.array([NOON] * len(updates), INSTANT), "updated": pa.array(list(updates), INSTANT)})


def test_only_a_later_update_is_an_edit():
    result = edited(articles(NOON, None, NOON - timedelta(hours=1), NOON + timedelta(seconds=1)))
    assert (result.passed, result.severity) == (True, "warning")
    assert result.facts == {"articles": 4, "edited": 1, "percent": "25.00"}


@pytest.mark.parametrize(("of_20", "passed"), [(10, True), (11, False)])
def test_a_warning_is_raised_when_most_articles_are_edited(of_20, passed):
    later = NOON + timedelta(seconds=1)
    assert edited(articles(*[later] * of_20, *[NOON] * (20 - of_20))).passed is passed


def test_a_table_without_articles_raises_no_edit_warning():
    assert edited(articles()).passed


def gaps(*result):
    return pa.Table.from_pylist([gap.as_row() for gap in result], GAP_STAGED_SCHEMA)


def test_unanswered_requests_are_counted_by_reason():
    refused = [StagedGap("upstream_error", "HTTP 429", f"fred:{number}") for number in range(7)]
    result = answered(
        gaps(*refused, StagedGap("upstream_error", "HTTP 503", "fred:x"), StagedGap("no_data", "empty", "fred:y"))
    )
    assert (result.passed, result.severity, len(result.examples)) == (False, "warning", 5)
    assert result.facts == {"unanswered": 8, "HTTP 429": 7, "HTTP 503": 1}
    assert answered(gaps(StagedGap("no_data", "empty", "fred:y"))).passed


def test_external_datasets_have_their_contracts_warnings_and_answered():
    assert [result.name for result in warnings(get("news"), articles(), gaps())] == ["edited"]
    assert [result.name for result in warnings(get("prices"), articles(), gaps())] == ["basis_proven"]
    assert warnings(get("dividends"), articles(), gaps()) == ()
    question = warnings(get("benzinga_news"), articles(), gaps())
    assert [result.name for result in question] == ["edited", "answered"]


def bar_gap(day, entity, reason="split basis is not proven"):
    return StagedGap("unverifiable", reason, f"neo4j:Date:2024-06-{day:02}/HAS_PRICE/{entity}")


def test_bars_whose_basis_is_not_proven_are_counted_by_entity_and_day():
    bars = pa.table({"entity_kind": ["company"] * 5 + ["sector"], "entity_id": ["7"] * 3 + ["8"] * 2 + ["7"]})
    lost = [
        bar_gap(3, "Company:7"),
        bar_gap(4, "Company:7"),
        bar_gap(3, "Company:9"),
        bar_gap(5, "Company:8", "no price"),
    ]
    result = basis_proven(bars, gaps(*lost))
    assert (result.passed, result.severity) == (False, "warning")
    assert result.facts == {
        "bars": 9, "unproven": 3, "percent": "33.33",
        "Company:7": "2 of 5, 2024-06-03 to 2024-06-04", "Company:9": "1 of 1, 2024-06-03 to 2024-06-03",
    }  # fmt: skip
    assert result.examples[0] == "neo4j:Date:2024-06-03/HAS_PRICE/Company:7"
    assert basis_proven(bars, gaps(lost[-1])).passed


def test_bars_before_a_split_too_small_to_detect_cause_a_warning(tmp_path):
    upstream = Upstream(s0610=1.047)
    reply = run_partitions_of(upstream, Lake(tmp_path / "lake"))
    assert (reply.passed, reply.facts["unproven"]) == (False, sum(day < date(2024, 6, 10) for day in DAYS))
    assert run_partitions_of(Upstream(s0610=10.0), Lake(tmp_path / "other")).passed


def run_partitions_of(upstream, lake):
    result = []
    upstream.extract(
        lake, audits=[lambda staged, _: result.extend(warnings(staged.dataset, staged.rows, staged.gaps)) or ()]
    )
    return next(each for each in result if each.name == "basis_proven")
