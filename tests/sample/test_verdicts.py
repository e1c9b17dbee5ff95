"""The comparison with the manifest finds planted differences, and nothing if every expectation is met."""

from datetime import date, datetime, timezone

import pytest

from pitlake.lake import Lake
from pitlake.lake.publishing.stage import StagedGap
from sample.expectations import ABSENT, GAP, REVISIONS, ROW, Expectation, Revision
from tests.kit import publish
from tests.verdicts import Outcomes

DAY, CLOSE = date(2024, 6, 10), datetime(2024, 6, 10, 20, tzinfo=timezone.utc)
OBSERVED = datetime(2026, 1, 1, tzinfo=timezone.utc)
KEY = {"ticker": "QBRY"}
VALUES = {"execution_date": DAY, "split_to": 10.0}
AT, EVIDENCE, UNDATED = "2024-06-10T20:00:00Z", "neo4j:Split:1", "neo4j:Split:2"


def stated(kind, *, dataset="splits", at=None, **fields):
    """Return an expectation of quirk 1."""
    return Expectation(1, "", dataset, kind, available_at=at, **fields)


def row(key=KEY, values=VALUES, at=AT, locator=""):
    return stated(ROW, key=key, values=values, at=at, locator=locator)


def gap(locator=UNDATED, reason="no date node", at=None):
    return stated(GAP, locator=locator, gap_type="unverifiable", reason=reason, at=at)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    lake = Lake(tmp_path_factory.mktemp("lake"))
    split = {"split_id": "1", "ticker": "QBRY", "execution_date": DAY, "split_from": 1.0, "split_to": 10.0}
    split |= {"available_at": CLOSE}
    missing = [StagedGap("unverifiable", "no date node", UNDATED, OBSERVED)]
    publish(lake, "splits", [split | {"evidence": EVIDENCE}], gaps=missing, observed_at=OBSERVED)
    return Outcomes(lake.snapshot(), OBSERVED)


def test_an_expectation_that_is_met_has_no_fault(outcomes):
    right = [
        row(locator=EVIDENCE),
        gap(),
        stated(ABSENT, key={"ticker": "QACB"}, locator="neo4j:Split:3"),
        stated(ABSENT, dataset="news", key={"id": "1"}),
    ]
    assert [fault for expectation in right for fault in outcomes.faults(expectation)] == []


WRONG = {
    "value": (row(values=VALUES | {"split_to": 4.0}), "split_to is 10.0"),
    "instant": (row(at="2024-06-10T21:00:00Z"), "available at 2024-06-10T20:00:00Z"),
    "observed": (row(at=None), "instead of the observation"),
    "evidence": (row(locator="neo4j:Split:3"), "evidence"),
    "missing row": (row(key={"ticker": "QACB"}, values={}), "0 rows"),
    "reason": (gap(reason="no ticker"), "no date node"),
    "gap shown": (gap(at=AT), "available at 2026"),
    "gap that is a row": (gap(locator=EVIDENCE), "the gaps are []"),
    "absent row": (stated(ABSENT, key=KEY), "there are rows"),
    "absent evidence": (stated(ABSENT, locator=EVIDENCE), "it is a row"),
    "absent gap": (stated(ABSENT, locator=UNDATED), "it is a gap"),
    "revisions": (stated(REVISIONS, key=KEY, revisions=(Revision({}, AT),) * 2), "1 rows instead of 2"),
}


@pytest.mark.parametrize(("expectation", "fault"), [*WRONG.values()], ids=[*WRONG])
def test_an_expectation_that_is_not_met_is_a_fault(outcomes, expectation, fault):
    assert fault in outcomes.faults(expectation)[0]
