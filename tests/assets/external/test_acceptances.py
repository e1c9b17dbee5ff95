"""Acceptance times may be in UTC or New York time. A published filing keeps its date whichever of them EDGAR serves."""

import json
from datetime import date, datetime, timedelta, timezone

import pytest

from assets.external.sec_edgar.sec_filings import COLUMNS, FEED
from assets.feeds import dating
from assets.feeds.acceptances import proven_by, release
from assets.feeds.dating import Dated
from assets.feeds.feed import Scope
from assets.feeds.runs import run_feed
from pitlake.clock import NEW_YORK
from pitlake.datasets import get
from pitlake.lake.lake import Lake
from pitlake.session import connect
from resources.http.capture import CaptureStore, Request
from resources.http.client import HttpClient
from resources.http.providers.sec_edgar import PROVIDER
from tests.answers import captured
from tests.derived.conftest import put_rows

CIK = "0009800021"
LOOK, LATER_LOOK, LAST_LOOK = (datetime(2025, month, 3, 15, tzinfo=timezone.utc) for month in (3, 4, 5))
UTC_TEXT, NEW_YORK_TEXT = timezone.utc, NEW_YORK
# Every quarter of an hour of EDGAR's day, in winter and in summer.
TRUTHS = [
    datetime(2024, month, 17, 6, 0, 7, tzinfo=NEW_YORK) + timedelta(minutes=15 * quarter)
    for month in (1, 7)
    for quarter in range(64)
] + [datetime(2024, 7, 18, 20, tzinfo=NEW_YORK), datetime(2024, 1, 18, 19, tzinfo=NEW_YORK)]


def looked(lake, truths, clocks, at, items="2.02,9.01"):
    """Run the feed on submissions without headers whose acceptance times are written in these time zones."""
    columns = {name: [None] * len(truths) for name in COLUMNS}
    columns["accessionNumber"] = [f"0009800021-24-{number:06d}" for number in range(len(truths))]
    columns["acceptanceDateTime"] = [
        truth.astimezone(clock).strftime("%Y-%m-%dT%H:%M:%S.000Z") for truth, clock in zip(truths, clocks, strict=True)
    ]
    columns["form"] = ["8-K"] * len(truths)
    columns["items"] = [items] * len(truths)
    columns["filingDate"] = [
        (truth + timedelta(days=1 if (truth.hour, truth.minute) >= (17, 30) else 0)).date().isoformat()
        for truth in truths
    ]
    body = json.dumps({"cik": CIK, "tickers": ["QBG"], "filings": {"recent": columns, "files": []}}).encode()
    store = CaptureStore.of(lake.location)
    store.put(captured(PROVIDER, Request(f"/submissions/CIK{CIK}.json"), body, fetched_at=at))
    with HttpClient(PROVIDER, store, "replay", until=at) as client:
        return run_feed(FEED, Scope(ciks=(CIK,)), client, lake, run_id=f"look-{at:%m}", observed_at=at)


ORDERS = {
    "UTC, then New York": (UTC_TEXT, NEW_YORK_TEXT, NEW_YORK_TEXT),
    "New York, then UTC": (NEW_YORK_TEXT, UTC_TEXT, UTC_TEXT),
    "UTC, New York, UTC": (UTC_TEXT, NEW_YORK_TEXT, UTC_TEXT),
    "New York, UTC, New York": (NEW_YORK_TEXT, UTC_TEXT, NEW_YORK_TEXT),
}


@pytest.mark.parametrize("clocks", ORDERS.values(), ids=ORDERS)
def test_a_flip_of_the_edgar_clock_is_no_revision_and_changes_no_date(tmp_path, clocks):
    lake, published = Lake(tmp_path / "lake"), []
    for clock, at in zip(clocks, (LOOK, LATER_LOOK, LAST_LOOK), strict=True):
        looked(lake, TRUTHS, [clock] * len(TRUTHS), at)
        with connect(lake=lake, open_mode=True, datasets=["sec_filings"]) as session:
            published.append(session.sql("FROM sec_filings_revisions ORDER BY accession_no").arrow().to_pylist())
    first, second, third = published
    assert first == second == third
    for truth, row in zip(TRUTHS, first, strict=True):
        assert row["available_at"] >= release(Dated(truth, "sgml_header"), "8-K", row["filing_date"]).at
        # A midnight in UTC may stand for any time of Friday, and filings of Friday evening are released on Monday.
        assert row["available_at"] < truth + timedelta(days=4 if row["acceptance_rule"] == "date_only" else 2)


@pytest.mark.parametrize("clocks", ORDERS.values(), ids=ORDERS)
def test_a_revised_filing_takes_the_acceptance_time_proven_meanwhile(tmp_path, clocks):
    lake = Lake(tmp_path / "lake")
    for clock, at in zip(clocks[:2], (LOOK, LATER_LOOK), strict=True):
        looked(lake, TRUTHS, [clock] * len(TRUTHS), at, items="8.01" if at == LATER_LOOK else "2.02,9.01")
    with connect(lake=lake, open_mode=True, datasets=["sec_filings"]) as session:
        rows = session.sql("FROM sec_filings ORDER BY accession_no").arrow().to_pylist()
    assert [row["accepted_at"] for row in rows] == TRUTHS
    assert {row["available_at"] for row in rows} == {LATER_LOOK}
    assert not {row["acceptance_rule"] for row in rows} & {"later_reading", "date_only"}


@pytest.mark.parametrize("clocks", ORDERS.values(), ids=ORDERS)
def test_serving_a_few_filings_by_another_clock_publishes_nothing(tmp_path, clocks):
    lake, truths = Lake(tmp_path / "lake"), [*TRUTHS[2::16], TRUTHS[-1]]
    changes = [looked(lake, truths, [clock] * len(truths), at).outcome.changed
               for clock, at in zip(clocks, (LOOK, LATER_LOOK, LAST_LOOK), strict=True)]  # fmt: skip
    assert changes == [True, False, False]


@pytest.mark.parametrize(("day", "revisions"), [(17, 1), (18, 2)])
def test_a_time_of_day_served_later_is_a_revision_only_if_the_day_changes(tmp_path, day, revisions):
    lake = Lake(tmp_path / "lake")
    looked(lake, [datetime(2024, 7, 17, tzinfo=NEW_YORK)], [NEW_YORK_TEXT], LOOK)
    looked(lake, [datetime(2024, 7, day, 16, 5, tzinfo=NEW_YORK)], [UTC_TEXT], LATER_LOOK)
    with connect(lake=lake, open_mode=True, datasets=["sec_filings"]) as session:
        assert session.sql("SELECT count(*) FROM sec_filings_revisions").rows() == [(revisions,)]


def test_an_acceptance_that_truly_changes_is_a_revision(tmp_path):
    lake = Lake(tmp_path / "lake")
    truth = datetime(2024, 7, 17, 16, 5, tzinfo=NEW_YORK)
    looked(lake, [truth], [NEW_YORK_TEXT], LOOK)
    looked(lake, [truth + timedelta(hours=1)], [NEW_YORK_TEXT], LATER_LOOK)
    with connect(lake=lake, open_mode=True, datasets=["sec_filings"]) as session:
        assert session.sql("SELECT acceptance_rule, acceptance_raw FROM sec_filings").rows() == [
            ("later_reading", "2024-07-17T17:05:00.000Z")
        ]


@pytest.mark.parametrize(
    ("texts", "proves"),
    [
        (("2024-07-17T16:05:00.000Z", "2024-07-17T20:05:00.000Z"), "2024-07-17T20:05:00+00:00"),
        (("2024-01-17T16:05:00Z", "2024-01-17T21:05:00Z"), "2024-01-17T21:05:00+00:00"),
        (("2024-01-17T16:05:00Z", "2024-01-17T20:05:00Z"), None),
        (("2024-07-17T16:05:00Z", "2024-07-17T21:05:00Z"), None),
        (("2024-07-17T16:05:00Z",) * 2, None),
        (("2024-07-17T20:00:00Z", "2024-07-18T00:00:00Z"), "2024-07-18T00:00:00+00:00"),
        (("2024-07-17T00:00:00Z", "2024-07-17T04:00:00Z"), None),
        (("2024-07-17T16:05:00-04:00", "2024-07-17T20:05:00Z"), None),
        (("2024-13-17T16:05:00Z", "", "20240717160500"), None),
    ],
)
def test_two_acceptance_texts_prove_a_time_only_if_the_offset_in_force_separates_them(texts, proves):
    proven = proven_by(texts)
    assert (proven and proven[1]) == (proves and Dated(datetime.fromisoformat(proves), dating.TWO_READINGS))


def test_an_ambiguous_acceptance_is_released_no_earlier_than_either_reading_allows():
    # Read as UTC, 03:30 is 22:30 of the day before. Such a filing is released at 07:30, later than 03:30 in New York.
    undecided = Dated(datetime(2024, 1, 17, 3, 30, tzinfo=NEW_YORK), dating.LATER)
    assert release(undecided, "8-K", date(2024, 1, 17)).at == datetime(2024, 1, 17, 7, 30, tzinfo=NEW_YORK)
    day = Dated(datetime(2024, 1, 18, tzinfo=NEW_YORK), dating.DATE_ONLY)
    assert release(day, "4", date(2024, 1, 17)).at == datetime(2024, 1, 18, 7, 30, tzinfo=NEW_YORK)
    assert release(day, "8-K", date(2024, 1, 17)).at == datetime(2024, 1, 18, 7, 30, tzinfo=NEW_YORK)
    assert release(day, "8-K", date(2024, 1, 18)).at == datetime(2024, 1, 18, 7, 30, tzinfo=NEW_YORK)
    assert release(day, "8-K", None).at == datetime(2024, 1, 18, 7, 30, tzinfo=NEW_YORK)
    assert release(day, "8-K", None, as_accepted=True).at == datetime(2024, 1, 18, tzinfo=NEW_YORK)


@pytest.mark.parametrize("dataset", ["sec_facts", "xbrl_facts"])
def test_of_two_filings_released_together_the_later_accepted_sets_the_fact(tmp_path, dataset):
    lake, released = Lake(tmp_path / "lake"), datetime(2024, 2, 23, 12, 30, tzinfo=timezone.utc)
    fact = {
        "cik": CIK, "concept": "us-gaap:Revenues", "unit": "USD", "period_type": "instant", "value_number": 1.0,
        "period_end": date(2023, 12, 31), "filing_date": date(2024, 2, 23), "available_at": released,
        "dimensions": "", "members": "", "member_count": 0,
    }  # fmt: skip
    columns = {column.name for column in get(dataset).columns} | {"available_at"}
    evening = datetime(2024, 2, 22, 17, 45, tzinfo=NEW_YORK)
    filings = ((0, "0009800021-24-000099", "first"), (2, "0000950170-24-000001", "amended"))
    rows = [
        fact | {"accession_no": number, "value": value, "accepted_at": evening + timedelta(hours=later)}
        for later, number, value in filings
    ]
    put_rows(lake, dataset, *({name: value for name, value in row.items() if name in columns} for row in rows))
    with connect(released, lake=lake, datasets=[dataset]) as session:
        assert session.sql(f"SELECT value FROM {dataset}").rows() == [("amended",)]
