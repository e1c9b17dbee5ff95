"""Release times of filings, as a lake knew them at an observation, and the records dated by them."""

import json
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.derived import names
from assets.external.sec_edgar.sec_facts import FEED as FACTS
from assets.external.sec_edgar.sec_filings import COLUMNS
from assets.external.sec_edgar.sec_filings import FEED as FILINGS
from assets.feeds.dating import Dated
from assets.feeds.feed import Scope
from assets.feeds.releases import Filing, LakeReleases, _known_at
from assets.feeds.runs import collect_unit, run_feed
from pitlake import clock
from pitlake.datasets._shared import BY_ACCEPTANCE
from pitlake.lake.lake import Lake
from pitlake.session import connect
from resources.http.capture import CaptureStore, Request
from resources.http.client import HttpClient
from resources.http.providers.sec_edgar import PROVIDER
from tests.answers import FETCHED, Played, at, captured
from tests.kit import publish

CIK, TEN_K = "0009800021", "0009800021-24-000011"
COMPANY = Scope(ciks=("9800021",))


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A lake with the company's filings and then its facts, replayed from captures."""
    lake = Lake(tmp_path_factory.mktemp("edgar") / "lake")
    store = CaptureStore.of(lake.root)
    played = Played(PROVIDER)
    for feed in (FILINGS, FACTS):
        for unit in feed.units(COMPANY):
            collect_unit(feed, unit, played.fetch)
    played.keep(store)
    for feed in (FILINGS, FACTS):
        with HttpClient(PROVIDER, store) as client:
            report = run_feed(feed, COMPANY, client, lake, run_id="edgar")
        assert report.outcome.total.extracted == report.outcome.total.published + sum(report.gaps.values()) + (
            report.outcome.total.unchanged
        )
    names.derive(lake, run_id="names")
    return lake


def test_a_restatement_is_visible_only_from_its_release_on(lake):
    ask = "SELECT value FROM sec_facts WHERE concept = 'us-gaap:Revenues'"
    by_instant = {}
    for moment in (
        "2024-02-23T08:05:40-05:00",
        "2024-02-23T08:05:41-05:00",
        "2024-06-04T07:29:59-04:00",
        "2024-06-04T07:30:00-04:00",
    ):
        with connect(moment, lake=lake.root, datasets=["sec_facts"]) as session:
            by_instant[moment] = [row[0] for row in session.sql(ask).arrow().to_pandas().itertuples(index=False)]
    assert list(by_instant.values()) == [[], ["2166256000"], ["2166256000"], ["2160100000"]]


def test_the_lake_knows_acceptances_and_releases_of_earnings(lake):
    releases = LakeReleases(lake).at(clock.now())
    assert releases.release(TEN_K, CIK) == (at("2024-02-23T13:05:41"), "filing_date", at("2024-02-23T13:05:41"))
    assert releases.release(TEN_K, "0000000001") is None
    assert releases("QBG", date(2024, 2, 22)) == at("2024-02-22T21:15:03")
    assert releases("QBG", date(2024, 2, 23)) is None


def test_a_lake_that_does_not_exist_has_no_releases(tmp_path):
    assert LakeReleases(Lake(tmp_path / "none")).at(FETCHED).release(TEN_K, CIK) is None


def test_a_release_is_not_visible_to_an_observation_before_it(lake):
    accepted, microsecond = at("2024-02-23T13:05:41"), timedelta(microseconds=1)
    before, at_release = (LakeReleases(lake).at(moment) for moment in (accepted - microsecond, accepted))
    assert before.release(TEN_K, CIK) is None
    assert at_release.release(TEN_K, CIK).at == accepted
    evening = at("2024-02-22T21:15:03")
    assert LakeReleases(lake).at(evening - microsecond)("QBG", date(2024, 2, 22)) is None
    assert LakeReleases(lake).at(evening)("QBG", date(2024, 2, 22)) == evening


def test_releases_read_in_bulk_equal_those_read_individually(lake):
    accepted, microsecond = at("2024-02-23T13:05:41"), timedelta(microseconds=1)
    for moment in (accepted - microsecond, accepted):
        releases = LakeReleases(lake).at(moment)
        assert releases.of_companies([CIK]).release(TEN_K, CIK) == releases.release(TEN_K, CIK)


def test_a_release_is_dated_by_the_first_observed_statement(tmp_path):
    lake = Lake(tmp_path / "lake")
    accepted = at("2024-02-23T13:05:41")
    corrected, days = accepted + timedelta(minutes=5), [accepted + timedelta(days=day) for day in (1, 2, 3)]
    for observed, created in zip(days, (accepted, corrected, accepted), strict=True):
        row = {"cik": CIK, "accession_no": TEN_K, "form_type": "8-K", "release_rule": BY_ACCEPTANCE, "evidence": TEN_K}
        publish(lake, "reports", [row | {"created": created, "available_at": created}], observed_at=observed)
    assert [LakeReleases(lake).at(day).release(TEN_K, CIK).at for day in days] == [accepted] * 3


TEN_K_LATE, SHOWN = "0009800021-24-000012", at("2024-02-20T12:30")
FIRST_POLL, SECOND_POLL, OF_FACTS = (at(f"2024-{day}T15:00") for day in ("02-21", "03-01", "03-04"))


@pytest.mark.parametrize(
    ("accepted", "polls", "expected"),
    [
        ("2024-02-17T01:45:00.000Z", {FIRST_POLL: "2024-02-20", SECOND_POLL: "2024-02-16"}, SHOWN),
        ("2024-02-17T01:45:00.000Z", {SECOND_POLL: "2024-02-16"}, SHOWN),
        ("2024-02-17T01:45:00.000Z", {SECOND_POLL: "2024-02-15"}, SHOWN),
        ("2024-02-17T01:45:00.000Z", {FIRST_POLL: "2024-02-21", SECOND_POLL: "2024-02-16"}, at("2024-02-21T12:30")),
        ("2024-02-16T21:45:00+00:00", {FIRST_POLL: "2024-02-20", SECOND_POLL: "2024-02-16"}, SHOWN),
        ("2024-02-16T21:45:00+00:00", {SECOND_POLL: "2024-02-16"}, at("2024-02-16T21:45")),
    ],
)
def test_a_filing_date_moved_back_later_redates_no_filing_and_no_facts(tmp_path, accepted, polls, expected):
    lake = Lake(tmp_path / "lake")
    store = CaptureStore.of(lake.root)
    for fetched_at, filing_date in polls.items():
        columns = {name: [None] for name in COLUMNS} | {
            "accessionNumber": [TEN_K_LATE], "acceptanceDateTime": [accepted], "form": ["10-K"],
            "filingDate": [filing_date],
        }  # fmt: skip
        body = json.dumps({"cik": CIK, "tickers": ["QBG"], "filings": {"recent": columns, "files": []}}).encode()
        store.put(captured(PROVIDER, Request(f"/submissions/CIK{CIK}.json"), body, fetched_at=fetched_at))
    fact = {"end": "2023-12-31", "val": 1, "accn": TEN_K_LATE, "form": "10-K", "filed": list(polls.values())[-1]}
    answer = {"cik": CIK, "facts": {"us-gaap": {"Assets": {"units": {"USD": [fact]}}}}}
    request = Request(f"/api/xbrl/companyfacts/CIK{CIK}.json")
    store.put(captured(PROVIDER, request, json.dumps(answer).encode(), fetched_at=OF_FACTS))
    for feed in (FILINGS, FACTS):
        with HttpClient(PROVIDER, store, "replay") as client:
            run_feed(feed, COMPANY, client, lake, run_id=feed.dataset.name)
    with connect(lake=lake.root, open_mode=True, datasets=["sec_filings", "sec_facts"]) as session:
        for name in ("sec_filings", "sec_facts"):
            assert session.sql(f"SELECT min(available_at) FROM {name}_revisions").rows() == [(expected,)]
    with connect(expected, lake=lake.root, datasets=["sec_filings"]) as session:
        days = session.sql("SELECT filing_date FROM sec_filings").rows()
    assert days == [(date.fromisoformat(next(iter(polls.values()))),)]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, unique=True), st.integers(0, 5))
def test_a_filing_is_dated_by_the_statements_observed_first(statements, now):
    start = at("2024-02-23T13:05:41")
    instants = [start + timedelta(days=day) for day in range(6)]
    filings = [
        Filing(Dated(instants[accepted], "sgml"), "8-K", None, as_accepted=True, observed_at=instants[observed])
        for accepted, observed in statements
    ]
    first = min(observed for _, observed in statements)
    accepted = max(accepted for accepted, observed in statements if observed == first)
    assert _known_at(filings, instants[now]).accepted.instant == instants[accepted]
