"""`pitlake audit --lake`: the findings that a lake's facts add are marked as such, and no honest table is accused."""

import json
from datetime import date, datetime, timezone

import pandas as pd
import pytest

from pitlake.audit import audit
from pitlake.cli import invoke
from pitlake.lake.lake import Lake
from tests.kit import publish

FIRST, AGAIN = (datetime(year, 2, 20, 22, tzinfo=timezone.utc) for year in (2022, 2023))
END = date(2021, 12, 31)
HONEST = pd.DataFrame([
    {"ticker": "FB", "period_end": END, "available_at": FIRST, "revenue": 1000.0, "eps": 2.0},
    {"ticker": "META", "period_end": date(2022, 12, 31), "available_at": AGAIN, "revenue": 1300.0, "eps": 2.5},
])  # fmt: skip


def facts():
    for at, end, values in ((FIRST, END, (1000.0, 2.0)), (AGAIN, END, (900.0, 1.8)),
                            (AGAIN, date(2022, 12, 31), (1300.0, 2.5))):  # fmt: skip
        for concept, unit, value in zip(
            ("Revenues", "EarningsPerShareDiluted"), ("USD", "USD/shares"), values, strict=True
        ):
            yield {
                "accession_no": f"0000000001-{at.year - 2000}-000001", "form_type": "10-K", "cik": "0000000001",
                "concept": f"us-gaap:{concept}", "unit": unit, "period_type": "duration", "period_end": end,
                "period_start": end.replace(month=1, day=1), "value": str(value), "value_number": value,
                "filing_date": at.date(), "available_at": at, "accepted_at": at, "release_rule": "acceptance",
            }  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    outcome = Lake(tmp_path_factory.mktemp("facts") / "lake")
    publish(outcome, "sec_facts", facts(), "facts")
    names = (("FB", datetime(2020, 1, 1, tzinfo=timezone.utc)), ("META", datetime(2022, 6, 9, 4, tzinfo=timezone.utc)))
    publish(outcome, "names", [
        {"cik": "0000000001", "kind": "ticker", "name": ticker, "all_names": [ticker], "source": "dei",
         "statement": ticker, "available_at": at}
        for ticker, at in names
    ], "names")  # fmt: skip
    return outcome


def found(frame, lake):
    return {each.rule: each for each in audit(frame, lake=lake).findings}


def test_an_honest_table_is_not_accused_by_a_lake(lake):
    report = audit(HONEST, lake=lake)
    assert not report.findings
    assert {"lake_restated", "lake_tickers"} <= set(report.clean)
    assert "lake_restated" not in audit(HONEST).clean


def test_a_restated_value_under_its_first_date_is_found_and_marked(lake):
    bad = HONEST.assign(revenue=[900.0, 1300.0])
    assert not audit(bad).findings
    finding = found(bad, lake)["lake_restated"]
    assert (finding.count, finding.of) == (1, 2)
    assert finding.title == "restated values under first dates, by the lake's facts"
    row = dict(zip(finding.columns, finding.worst[0], strict=True))
    assert (row["revenue"], row["first stated"], row["value then"]) == ("900.0", "2023-02-20", "1000.0")


@pytest.mark.parametrize(
    "frame",
    [
        HONEST.assign(revenue=[123.0, 1300.0]),  # stated in no filing
        HONEST.assign(revenue=[900.0, 1300.0], available_at=AGAIN),
        HONEST.assign(ticker="ZZZ", revenue=900.0),
        HONEST.assign(available_at=[FIRST.date(), AGAIN.date()]),  # a day takes effect at its end
    ],
    ids=["not in the lake", "with its own stamp", "of another company", "by days"],
)
def test_a_value_without_evidence_of_both_times_is_not_accused(lake, frame):
    assert "lake_restated" not in found(frame, lake)


def test_a_later_ticker_on_an_old_row_is_found_by_the_lakes_names(lake):
    finding = found(HONEST.assign(ticker="META"), lake)["lake_tickers"]
    row = dict(zip(finding.columns, finding.worst[0], strict=True))
    assert (finding.count, row["ticker"], row["ticker then"]) == (1, "META", "FB")


def test_the_command_marks_what_a_lake_added(lake, tmp_path, capfd):
    HONEST.assign(revenue=[900.0, 1300.0]).to_parquet(tmp_path / "own.parquet")
    question = ["audit", str(tmp_path / "own.parquet")]
    assert invoke(question) == 0
    assert invoke([*question, "--lake", lake.location, "--format", "json"]) == 1
    page = capfd.readouterr().out
    assert [each["rule"] for each in json.loads(page[page.index("{") :])["findings"]] == ["lake_restated"]
    assert invoke([*question, "--lake", str(tmp_path / "none")]) != 0
    assert invoke([*question, "--lake", lake.location]) == 1
    page = capfd.readouterr().out
    assert "1. restated values under first dates, by the lake's facts: 1 of 2 rows" in page
    assert "clean        today's tickers on old rows, by the lake's facts" in page
