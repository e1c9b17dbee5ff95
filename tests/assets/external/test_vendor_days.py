"""A vendor's report day is checked against the company's 8-Ks; if none was filed near it, the record becomes a gap."""

import json
from datetime import date, datetime, timedelta, timezone

import pytest

from assets.derived import names
from assets.external import all_feeds
from assets.external.sec_edgar.sec_filings import COLUMNS
from assets.extraction import Gap
from assets.feeds.feed import Scope
from assets.feeds.releases import LakeReleases
from assets.feeds.replaying import first_request
from assets.feeds.runs import run_feed
from pitlake import connect
from pitlake.datasets import get
from pitlake.lake.lake import Lake
from resources.http.capture import CaptureStore, Request
from resources.http.client import HttpClient
from resources.http.providers.sec_edgar import PROVIDER
from tests.answers import captured, happened, poll_without_splits

CIK = "0009800021"
STATED, FETCHED, LONG_BEFORE = (
    date(2020, 7, 12),
    datetime(2021, 3, 2, 15, tzinfo=timezone.utc),
    (date(2020, 5, 1), "5.02"),
)
NO_RESULTS = "the company filed no results near the stated day"
DAY = timedelta(days=1)


def lake_with(root, *filings, form="8-K", fetched_at=FETCHED - DAY, since=None, pages=(), stored=()):
    """Return a lake that polled the company's list of filings. filings: the day and the items of each."""
    lake = Lake(root / "lake")
    store = CaptureStore.of(lake.root)
    columns = {name: [None] * len(filings) for name in COLUMNS} | {
        "accessionNumber": [f"{CIK}-20-{number:06}" for number in range(len(filings))],
        "acceptanceDateTime": [f"{filed}T16:05:00-04:00" for filed, _ in filings],
        "filingDate": [filed.isoformat() for filed, _ in filings],
        "items": [items for _, items in filings],
        "form": [form] * len(filings),
    }
    files = [{"name": page, "filingFrom": "2010-01-04", "filingTo": "2020-08-01"} for page in pages]
    company = {"cik": CIK, "name": "A Company", "tickers": ["QBG"], "exchanges": ["NYSE"], "formerNames": []}
    body = json.dumps(company | {"filings": {"recent": columns, "files": files}}).encode()
    store.put(captured(PROVIDER, Request(f"/submissions/CIK{CIK}.json"), body, fetched_at=fetched_at))
    for page in stored:
        older = json.dumps({name: [] for name in COLUMNS}).encode()
        store.put(captured(PROVIDER, Request(f"/submissions/{page}"), older, fetched_at=fetched_at))
    with HttpClient(PROVIDER, store, "replay") as client:
        scope = Scope(ciks=(CIK,), date_from=since)
        run_feed(all_feeds()["sec_filings"], scope, client, lake, run_id="filings")
    names.derive(lake, run_id="names", observed_at=fetched_at)
    return lake


def reasons(lake, reported_on=STATED, fetched_at=FETCHED):
    """Return the reasons of each vendor's gaps if both vendors state that day for the same report."""
    quarter = {"fiscalDateEnding": "2004-06-30", "reportedDate": reported_on.isoformat(), "reportedEPS": "0.6"}
    years = [
        {"fiscalDateEnding": "2004-06-30", "reportedEPS": "2.1"},
        {"fiscalDateEnding": "2003-06-30", "reportedEPS": "1"},
    ]
    labels = ("Symbol", "Event Start Date", "Timezone short name", "EPS Estimate", "Reported EPS", "Surprise (%)")
    event = ["QBG", f"{reported_on}T16:00:00.000-04:00", "EDT", 0.5, 0.6, 20]
    table = {"columns": [{"label": label} for label in labels], "rows": [event]}
    answers = {
        "av_earnings": {"symbol": "QBG", "quarterlyEarnings": [quarter], "annualEarnings": years[:1]},
        "yahoo_earnings": {"finance": {"result": [{"documents": [table]}], "error": None}},
    }
    reasons_of = {}
    for name, body in answers.items():
        feed = all_feeds()[name]

        def fetch(request, body=body, provider=feed.provider):
            return captured(provider, request, json.dumps(body).encode(), fetched_at=fetched_at)

        releases = LakeReleases(lake).at(fetched_at)
        outcomes = happened(feed, Scope(tickers=("QBG",)), fetch, fetched_at, releases=releases)
        reasons_of[name] = [outcome.reason for outcome in outcomes if isinstance(outcome, Gap)]
    return reasons_of


BOTH, NONE = (
    {"av_earnings": [NO_RESULTS] * 2, "yahoo_earnings": [NO_RESULTS]},
    {"av_earnings": [], "yahoo_earnings": []},
)


@pytest.mark.parametrize(
    ("days", "items", "expected"),
    [
        (18, "2.02,9.01", BOTH),
        (5, "2.02", BOTH),
        (4, "2.02", NONE),
        (0, "2.02", NONE),
        (-1, "2.02,9.01", NONE),
        (-2, "2.02", BOTH),
        (0, "8.01,9.01", BOTH),
    ],
)
def test_a_report_day_without_company_results_near_it_is_a_gap(tmp_path, days, items, expected):
    assert reasons(lake_with(tmp_path, LONG_BEFORE, (STATED + days * DAY, items))) == expected


RESULTS = (STATED + 18 * DAY, "2.02,9.01")
PAGE = f"CIK{CIK}-submissions-001.json"


@pytest.mark.parametrize(
    ("filings", "options", "reported_on", "expected"),
    [
        ((LONG_BEFORE, RESULTS), {"fetched_at": datetime(2020, 7, 17, 11, tzinfo=timezone.utc)}, STATED, NONE),
        ((LONG_BEFORE, RESULTS), {"fetched_at": FETCHED + DAY}, STATED, NONE),
        ((LONG_BEFORE, RESULTS), {"form": "6-K"}, STATED, NONE),
        ((RESULTS,), {}, STATED, NONE),
        ((LONG_BEFORE, RESULTS), {"since": date(2020, 7, 12)}, STATED, NONE),
        ((LONG_BEFORE, RESULTS), {"since": date(2020, 7, 11)}, STATED, BOTH),
        ((LONG_BEFORE, RESULTS), {"pages": [PAGE], "stored": [PAGE]}, STATED, BOTH),
        ((LONG_BEFORE, RESULTS), {"pages": [PAGE]}, STATED, NONE),
        (((date(2004, 5, 1), "5"), RESULTS), {}, date(2004, 8, 22), NONE),
        (((date(2004, 5, 1), "5"), RESULTS), {}, date(2004, 8, 23), BOTH),
    ],
    ids=[
        "polled before the days were over", "polled after the fetch", "files no 8-Ks", "filed none before",
        "polled since too late", "polled since then", "with an older page", "without an older page",
        "before item 2.02", "since item 2.02",
    ],
)  # fmt: skip
def test_only_a_complete_list_of_8_k_filings_disproves_a_report_day(tmp_path, filings, options, reported_on, expected):
    assert reasons(lake_with(tmp_path, *filings, **options), reported_on) == expected


@pytest.mark.parametrize(("end", "expected"), [("2020-07-18", BOTH), ("2020-07-17", NONE)])
def test_a_filing_list_with_an_end_proves_only_the_days_before_its_end(tmp_path, end, expected):
    """The last day near the stated one is 16 July, and an 8-K of that day may be released on the 17th."""
    lake = lake_with(tmp_path, LONG_BEFORE, (STATED + 18 * DAY, "2.02"), pages=[PAGE])
    with lake.stage(get("sec_filings"), "bulk") as stage:
        stage.poll(entities=[CIK])
        stage.cover(CIK, (("filing_date", None, end),))
        lake.publish(stage, FETCHED - DAY)
    assert reasons(lake) == expected


def test_earnings_replayed_before_captured_filings_are_dated_by_their_fetch(tmp_path):
    """The captured list of filings contradicts the stated day, but only once it is replayed."""
    listing = lake_with(tmp_path, LONG_BEFORE, (STATED + 18 * DAY, "2.02"))
    store, feed = CaptureStore.of(listing.root), all_feeds()["av_earnings"]
    quarter = {"fiscalDateEnding": "2020-06-30", "reportedDate": STATED.isoformat(), "reportedEPS": "0.6"}
    body = json.dumps({"symbol": "QBG", "quarterlyEarnings": [quarter], "annualEarnings": []}).encode()
    scope = Scope(tickers=("QBG",))
    request = first_request(feed, feed.units(scope)[0])
    store.put(captured(feed.provider, request, body, fetched_at=FETCHED))
    figures = []
    for name in ("new", "lake"):
        lake = Lake(tmp_path / name)
        poll_without_splits(lake, "QBG")
        with HttpClient(feed.provider, store, "replay") as client:
            report = run_feed(feed, scope, client, lake, run_id=f"figures-{name}")
        figures.append((report.outcome.total.published, dict(report.gaps), report.notes))
        with connect(FETCHED, lake=lake) as session:
            figures.append(session.sql("SELECT available_at, available_at_basis FROM av_earnings").rows())
    waits = "av_earnings is dated by its fetch: replay sec_filings into this lake first"
    assert figures == [
        (1, {}, (waits,)), [(FETCHED, "observed")],
        (0, {("unverifiable", NO_RESULTS): 1}, ()), [],
    ]  # fmt: skip


def test_a_lake_without_filings_trusts_the_vendors_dates(tmp_path):
    assert reasons(Lake(tmp_path / "lake")) == NONE
