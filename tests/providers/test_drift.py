"""Drift: changes in a provider's statements about the past are counted, and as-of answers keep the first statements."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.derived import drift
from assets.derived.drift import FieldDrift, measure, wilson
from assets.external import all_feeds
from pitlake import clock
from pitlake.lake.lake import Lake
from pitlake.session import connect
from resources.http.capture import CaptureStore
from resources.http.client import HttpClient
from tests.providers.conftest import hasty, run_once
from tests.providers.scopes import SCOPES

NAME = "av_earnings"


@pytest.fixture
def lake(tmp_path, server) -> Lake:
    """A lake with the first response from Alpha Vantage."""
    lake = Lake(tmp_path / "lake")
    run_once(NAME, lake, "first")
    return lake


def rewrite(ask, reply):
    """Return the response with one changed estimate and one missing quarter."""
    answer = json.loads(reply.body)
    message = [each for each in answer["quarterlyEarnings"] if each["reportedEPS"] not in ("None", None)]
    message[0]["estimatedEPS"] = "9.99"
    answer["quarterlyEarnings"].remove(message[1])
    return replace(reply, body=json.dumps(answer).encode())


def again(lake) -> dict[str, FieldDrift]:
    with HttpClient(hasty(all_feeds()[NAME].provider), CaptureStore.of(lake.root), "refresh") as client:
        return {each.field: each for each in measure(all_feeds()[NAME], SCOPES[NAME], client, lake)}


def rows_as_of(lake, as_of) -> list[tuple]:
    with connect(as_of, lake=lake, datasets=[NAME]) as session:
        return session.sql(f"SELECT ticker, fiscal_date_ending, estimated_eps FROM {NAME} ORDER BY ALL").rows()


def test_a_provider_with_unchanged_answers_has_no_drift(lake):
    result = again(lake)
    assert {each.changed for each in result.values()} == {0}
    assert result["reported_eps"].compared == result["*"].compared > 0


def test_rewritten_and_missing_values_are_counted_as_drift(lake, server):
    whole = again(lake)["*"].compared
    server.behave(rewrite)
    result = again(lake)
    assert result["estimated_eps"].changed == 1
    assert result["reported_eps"].changed == 0
    assert (result["*"].changed, result["*"].compared) == (whole - result["reported_eps"].compared, whole)


def test_past_answers_show_the_values_seen_first_despite_drift(lake, server):
    at = clock.now()
    before = rows_as_of(lake, at)
    server.behave(rewrite)
    again(lake)
    assert rows_as_of(lake, clock.now()) == before, "measuring publishes nothing of what it heard"
    run_once(NAME, lake, "second", "refresh")
    assert rows_as_of(lake, at) == before
    assert rows_as_of(lake, clock.now()) != before


def test_measured_drift_is_stored_in_the_lake_and_raises_a_warning(lake, server):
    server.behave(rewrite)
    again(lake)
    report = drift.derive(lake, run_id="drift")  # replays the captures, and compares the newest
    with connect(clock.now(), lake=lake, datasets=["drift"]) as session:
        sql = "SELECT source, changed, share BETWEEN low AND high FROM drift WHERE field = 'estimated_eps'"
        assert session.sql(sql).rows() == [("alpha_vantage", 1, True)]
    [check] = [check for check in report.checks if check.name == "drifted"]
    assert check.severity == "warning"
    assert not check.passed


def test_a_lake_without_captures_has_no_drift_to_measure(tmp_path):
    assert drift.derive(Lake(tmp_path), run_id="drift").outcome.total.extracted == 0


@given(compared=st.integers(1, 5000), data=st.data())
def test_the_interval_contains_the_share_and_stays_within_0_and_1(compared, data):
    changed = data.draw(st.integers(0, compared))
    low, high = wilson(changed, compared)
    assert 0 <= low <= changed / compared + 1e-12
    assert changed / compared - 1e-12 <= high <= 1


def test_the_interval_is_the_wilson_interval():
    low, high = wilson(1, 10)
    assert (round(low, 4), round(high, 4)) == (0.0179, 0.4042)
