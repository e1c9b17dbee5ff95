"""The sample universe as of past instants includes companies that ended later, so that screens are unbiased."""

from datetime import date, datetime, time, timedelta
from functools import cache
from statistics import fmean

import pytest

from assets.external import feed
from assets.feeds.feed import Scope
from assets.feeds.runs import run_feed
from pitlake.clock import NEW_YORK
from pitlake.lake.lake import Lake
from pitlake.questions import catalogue
from pitlake.session import connect
from resources.http.capture import CaptureStore
from resources.http.client import HttpClient
from sample import outside
from sample.bundled import capture_all
from sample.calendar import sessions
from sample.companies import ACQUIRED, DARK, DEAD, STRUCK, by_ticker, companies
from sample.prices import company_bars
from sample.schedule import filings
from tests.answers import FOLDER

READ = catalogue.get("universe").reads
EVERY = ["listed", "registered", "uncertain", "offered", "delisted", "deregistered"]
WHOLE = outside.SCOPES["universe_events"]
KNOWN_FROM = date(2024, 3, 28)  # from this day on, the indexes have an annual report of every company
TRADING = [day for day in sorted(sessions()) if KNOWN_FROM <= day <= date(2025, 3, 31)]
SCREENS = TRADING[::60]
HELD = timedelta(days=90)


def lake_of(folder, scope):
    """Return a lake with the events of the bundled indexes within a scope."""
    lake, item = Lake(folder), feed("universe_events")
    capture_all(item, scope, CaptureStore.of(lake.location), outside.FETCHED_AT)
    with HttpClient(item.provider, CaptureStore.of(lake.root), "replay") as client:
        run_feed(item, scope, client, lake, run_id="universe")
    return lake


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return lake_of(tmp_path_factory.mktemp("universe") / "lake", WHOLE)


@pytest.fixture(scope="module")
def universe(lake):
    """A function that returns the universe as of an instant, by CIK."""

    @cache
    def ask(moment):
        with connect(moment, lake=lake.location, datasets=READ) as session:
            rows = session.run("universe", statuses=EVERY).arrow().to_pylist()
        return {row["cik"]: row for row in rows}

    return ask


def living(result):
    """Return the companies that the query returns by default, without a choice of statuses."""
    return {cik: row for cik, row in result.items() if row["status"] in ("listed", "registered", "uncertain")}


def close_of(day):
    return datetime.combine(day, time(16), NEW_YORK)


def traded(day):
    """Return the companies that truly had a bar on that day, by CIK."""
    return {company.cik: company for company in companies() if day in company_bars(company)}


def gain(company, day):
    """Return the gain of a share held for `HELD`, or until its last bar if the company ended earlier."""
    bars = company_bars(company)
    last = max(bar for bar in bars if bar <= day + HELD)
    return bars[last].close / bars[day].close - 1


def test_the_bundled_indexes_list_every_annual_report_of_the_world():
    listing = {
        line.split("/")[-1].removesuffix(".txt")
        for path in (FOLDER / "sec_edgar").glob("form.*Q?.idx")
        for line in path.read_text().splitlines()
        if line.startswith("10-K ")
    }
    assert listing == {one.accession for company in companies() for one in filings(company) if one.form == "10-K"}


@pytest.mark.parametrize("day", SCREENS, ids=str)
def test_every_company_that_traded_on_a_day_is_in_the_universe_of_that_day(universe, day):
    result = living(universe(close_of(day)))
    assert traded(day).keys() - result.keys() == set()


def test_a_screen_of_the_universe_has_no_survivorship_bias(universe):
    survivors = [company for company in companies() if company not in _dead()]
    biased = 0
    for day in SCREENS:
        truth, result = traded(day), living(universe(close_of(day)))
        screened = [truth[cik] for cik in result if cik in truth]
        every = fmean(gain(company, day) for company in truth.values())
        assert fmean(gain(company, day) for company in screened) - every == pytest.approx(0, abs=1e-12)
        of_today = [company for company in survivors if company.cik in truth]
        biased += abs(fmean(gain(company, day) for company in of_today) - every) > 1e-3
    assert biased  # a list of today's companies must give a biased result


def _dead():
    return {by_ticker(company.ticker) for company in DEAD}


LIVES = [
    (ACQUIRED, "2024-05-01T07:29:59", "listed", None),
    (ACQUIRED, "2024-05-01T07:30:00", "listed", date(2024, 5, 10)),
    (ACQUIRED, "2024-05-10T00:00:00", "delisted", date(2024, 5, 10)),
    (ACQUIRED, "2024-08-08T00:00:00", "deregistered", date(2024, 5, 10)),
    (STRUCK, "2023-01-31T12:00:00", "offered", None),
    (STRUCK, "2023-02-08T12:00:00", "listed", None),
    (STRUCK, "2024-08-08T00:00:00", "listed", None),
    (STRUCK, "2024-09-09T00:00:00", "delisted", date(2024, 9, 9)),
    (STRUCK, "2025-06-30T16:00:00", "deregistered", date(2024, 9, 9)),
    (DARK, "2024-11-15T16:00:00", "registered", None),
    (DARK, "2025-02-13T00:00:00", "deregistered", None),
    ("QZP", "2025-06-30T16:00:00", "registered", None),  # its notes were delisted, not its shares
]


@pytest.mark.parametrize(("ticker", "moment", "status", "effective"), LIVES)
def test_a_company_changes_status_when_its_filings_say_so(universe, ticker, moment, status, effective):
    row = universe(datetime.fromisoformat(moment).replace(tzinfo=NEW_YORK))[by_ticker(ticker).cik]
    assert (row["status"], row["delisting_effective_on"]) == (status, effective)


def test_a_delisted_company_states_the_rule_of_its_delisting(universe):
    last = universe(close_of(date(2025, 6, 30)))
    reply = {ticker: last[by_ticker(ticker).cik]["rule_provision"] for ticker in (ACQUIRED, STRUCK)}
    assert reply == {ACQUIRED: "17 CFR 240.12d2-2(a)(3)", STRUCK: "17 CFR 240.12d2-2(b)"}


def test_a_lake_cut_off_at_an_instant_gives_the_same_universe_as_of_that_instant(universe, tmp_path):
    end = date(2024, 6, 30)
    moment = datetime.combine(end, time(23, 59), NEW_YORK)
    cut = lake_of(tmp_path / "lake", Scope(date_from=WHOLE.date_from, date_to=end, options=WHOLE.options))
    with connect(moment, lake=cut.location, datasets=READ) as session:
        shorter = session.run("universe", statuses=EVERY).arrow().to_pylist()
    assert len(shorter) > 20
    assert shorter == list(universe(moment).values())
