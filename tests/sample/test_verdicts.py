"""The judge: it finds what is wrong, and nothing where all is as stated."""

from datetime import date, datetime, timezone

import pyarrow as pa
import pytest

from pitlake.datasets import get
from pitlake.lake import Lake
from pitlake.lake.publishing.stage import StagedGap, staged_schema
from sample.expectations import Expectation, Revision, absent, gap, revised, row
from sample.verdicts import Outcomes

DAY, CLOSE = date(2024, 6, 10), datetime(2024, 6, 10, 20, tzinfo=timezone.utc)
OBSERVED = datetime(2026, 1, 1, tzinfo=timezone.utc)
KEY = {"ticker": "NVDA"}
VALUES = {"execution_date": DAY, "split_to": 10.0}
AT, EVIDENCE = "2024-06-10T20:00:00Z", "neo4j:Split:1"


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    lake, dataset = Lake(tmp_path_factory.mktemp("lake")), get("splits")
    split = {"split_id": "1", "ticker": "NVDA", "execution_date": DAY, "split_from": 1.0, "split_to": 10.0}
    split |= {"available_at": CLOSE}
    rows = [split | {"available_at_source": "time_series_timestamp", "evidence": EVIDENCE}]
    missing = [StagedGap("unverifiable", "no date node", "neo4j:Split:2", OBSERVED)]
    with lake.stage(dataset, "run") as stage:
        stage.add(DAY, pa.Table.from_pylist(rows, staged_schema(dataset)), missing, extracted=2)
        lake.publish(stage, OBSERVED)
    return Outcomes(lake.snapshot(), OBSERVED)


def test_what_is_as_stated_has_no_fault(outcomes):
    right = [
        row(1, "", "splits", KEY, VALUES, AT, EVIDENCE),
        gap(1, "", "splits", "neo4j:Split:2", "no date node", None),
        absent(1, "", "splits", {"ticker": "AAPL"}, "neo4j:Split:3"),
        absent(1, "", "news", {"id": "1"}),
    ]
    assert [fault for expectation in right for fault in outcomes.faults(expectation)] == []


WRONG: list[tuple[Expectation, str]] = [
    (row(1, "value", "splits", KEY, VALUES | {"split_to": 4.0}, AT), "split_to is 10.0"),
    (row(1, "instant", "splits", KEY, VALUES, "2024-06-10T21:00:00Z"), "available at 2024-06-10T20:00:00Z"),
    (row(1, "observed", "splits", KEY, VALUES, None), "instead of the observation"),
    (row(1, "evidence", "splits", KEY, VALUES, AT, "neo4j:Split:3"), "evidence"),
    (row(1, "missing", "splits", {"ticker": "AAPL"}, {}, AT), "0 rows"),
    (gap(1, "reason", "splits", "neo4j:Split:2", "no ticker", None), "no date node"),
    (gap(1, "shown", "splits", "neo4j:Split:2", "no date node", AT), "available at 2026"),
    (gap(1, "row", "splits", EVIDENCE, "no date node", None), "the gaps are []"),
    (absent(1, "row", "splits", KEY), "there are rows"),
    (absent(1, "evidence", "splits", locator=EVIDENCE), "it is a row"),
    (absent(1, "gap", "splits", locator="neo4j:Split:2"), "it is a gap"),
    (revised(1, "once", "splits", KEY, Revision({}, AT), Revision({}, AT)), "1 rows instead of 2"),
]


@pytest.mark.parametrize(("expectation", "fault"), WRONG, ids=[one.title for one, _ in WRONG])
def test_what_differs_is_told(outcomes, expectation, fault):
    found = outcomes.faults(expectation)
    assert found
    assert fault in found[0]
