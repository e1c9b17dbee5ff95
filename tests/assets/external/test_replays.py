"""Captures are replayed in the order they were taken. A complete response proves that other records were missing."""

import json
from datetime import date, datetime, timedelta, timezone

import pytest

from assets.external import all_feeds
from assets.feeds.feed import Scope
from assets.feeds.runs import run_feed
from pitlake import connect
from pitlake.contract import SEEN_LATER
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.publish import Published
from resources.http.capture import CaptureStore
from resources.http.client import HttpClient
from tests.answers import captured, poll_without_splits, yahoo_events, yahoo_ratings

MARCH, JUNE = (datetime(2024, month, 1, 15, tzinfo=timezone.utc) for month in (3, 6))
MAY = datetime(2024, 5, 1, tzinfo=timezone.utc)
APRIL = datetime(2024, 4, 1, tzinfo=timezone.utc)
FEBRUARY = datetime(2024, 2, 15, tzinfo=timezone.utc)
DAY = timedelta(days=1)


class Died(Exception):
    """The death of a run before its next response."""


class Archive:
    """A separate capture store, and lakes filled from it."""

    def __init__(self, root, name, **scope):
        self.root, self.feed, self.scope = root, all_feeds()[name], Scope(**scope)
        self.store, self.runs = CaptureStore(root / "captures"), 0

    def take(self, *bodies, at, scope=None):
        """Store these responses to the requests of all units, one second apart."""
        answers = iter(bodies)
        seconds = iter(range(len(bodies)))

        def fetch(request):
            body = next(answers, None)
            if body is None:
                raise Died
            content = json.dumps(body).encode()
            moment = at + timedelta(seconds=next(seconds))
            return self.store.put(captured(self.feed.provider, request, content, fetched_at=moment, headers={}))

        for unit in self.feed.units(scope or self.scope):
            for _ in self.feed.collect(unit, fetch):
                pass

    def replay(self, lake, until=None, scope=None):
        self.runs += 1
        with HttpClient(self.feed.provider, self.store, "replay", until=until) as client:
            report = run_feed(self.feed, scope or self.scope, client, lake, run_id=f"run-{self.runs}")
        assert isinstance(report.outcome, Published), report.outcome
        return report

    def lake(self, name="lake"):
        """Return a lake. For feeds of figures per share, its polls prove that there was no split."""
        lake = Lake(self.root / name)
        if "polygon_splits" in self.feed.after:
            poll_without_splits(lake, *self.scope.tickers)
        return lake


def ask(lake, at, sql):
    with connect(at, lake=lake) as session:
        return [tuple(row.values()) for row in session.sql(sql).arrow().to_pylist()]


def quarter(eps, end="2023-12-31", day="2024-02-01"):
    return {"fiscalDateEnding": end, "reportedDate": day, "reportedEPS": eps, "estimatedEPS": "1.0", "surprise": "0.1",
            "surprisePercentage": "10", "reportTime": "post-market"}  # fmt: skip


def earnings(*quarters):
    return {"symbol": "AAA", "annualEarnings": [], "quarterlyEarnings": list(quarters)}


EPS = "SELECT reported_eps FROM av_earnings ORDER BY ALL"


@pytest.fixture
def aaa(tmp_path):
    archive = Archive(tmp_path, "av_earnings", tickers=("AAA",))
    archive.take(earnings(quarter("0.62")), at=MARCH)
    archive.take(earnings(quarter("0.34")), at=JUNE)
    return archive


def test_a_new_lake_reads_captures_in_the_order_they_were_taken(aaa):
    lake = aaa.lake()
    report = aaa.replay(lake)
    assert report.outcome.total.published == 2
    assert [ask(lake, at, EPS) for at in (FEBRUARY, APRIL, JUNE + DAY)] == [[(0.62,)], [(0.62,)], [(0.34,)]]


def test_a_replay_in_parts_or_repeated_gives_the_same_lake(aaa):
    whole, parts = aaa.lake(), aaa.lake("parts")
    aaa.replay(whole)
    for until in (MARCH + DAY, None, MARCH + DAY, None):
        aaa.replay(parts, until)
    for at in (FEBRUARY, APRIL, JUNE + DAY):
        assert ask(whole, at, "FROM av_earnings_revisions") == ask(parts, at, "FROM av_earnings_revisions")
    version = parts.head()
    assert aaa.replay(parts).outcome.total.published == 0
    assert parts.head() == version


def test_a_live_run_reads_earlier_captures_in_order(aaa):
    lake = aaa.lake()
    with HttpClient(aaa.feed.provider, aaa.store, "live") as client:
        run_feed(aaa.feed, aaa.scope, client, lake, run_id="live")
    assert [ask(lake, at, EPS) for at in (APRIL, JUNE + DAY)] == [[(0.62,)], [(0.34,)]]


def test_an_older_capture_after_a_newer_capture_is_refused_and_changes_no_answer(tmp_path):
    archive = Archive(tmp_path, "av_earnings", tickers=("AAA",))
    archive.take(earnings(quarter("0.34")), at=JUNE)
    lake = archive.lake()
    archive.replay(lake)
    then = [ask(lake, at, "FROM av_earnings_revisions") for at in (FEBRUARY, APRIL, JUNE + DAY)]
    gaps = [ask(lake, at, "FROM gaps") for at in (FEBRUARY, APRIL, JUNE + DAY)]
    archive.take(earnings(quarter("0.62"), quarter("0.5", "2023-09-30", "2023-11-01")), at=MARCH)
    report = archive.replay(lake)
    assert report.gaps[SEEN_LATER.type, SEEN_LATER.reason] == 2
    total = report.outcome.total
    assert total.extracted == total.published + total.unchanged + sum(report.gaps.values())
    assert [ask(lake, at, "FROM av_earnings_revisions") for at in (FEBRUARY, APRIL, JUNE + DAY)] == then
    assert [ask(lake, at, "FROM gaps") for at in (FEBRUARY, APRIL, JUNE + DAY)] == gaps
    assert archive.replay(lake).outcome.total.published == 0
    anew = archive.lake("anew")
    archive.replay(anew)
    assert ask(anew, APRIL, EPS) == [(0.5,), (0.62,)]


TICKER, DAYS = Scope(tickers=("AAA",)), Scope(date_from=date(2024, 2, 1), date_to=date(2024, 2, 28))
OTHER = Scope(tickers=("BBB",))


def declared(amount, ticker="AAA"):
    return {"id": "E1", "ticker": ticker, "cash_amount": amount, "declaration_date": "2024-02-01",
            "ex_dividend_date": "2024-02-20", "dividend_type": "CD"}  # fmt: skip


def of_all(*records):
    return {"status": "OK", "results": list(records)}


@pytest.mark.parametrize("orders", [(DAYS, TICKER), (TICKER, DAYS), (OTHER, DAYS, TICKER)])
def test_a_rebuild_does_not_depend_on_the_scope_that_is_replayed_first(tmp_path, orders):
    archive = Archive(tmp_path, "polygon_dividends", tickers=("AAA",))
    archive.take(of_all(declared(0.62)), at=MARCH, scope=TICKER)
    archive.take(of_all(declared(0.1, "BBB")), at=APRIL, scope=OTHER)
    archive.take(of_all(declared(0.34)), at=JUNE, scope=DAYS)
    lake = archive.lake()
    for scope in orders:
        archive.replay(lake, scope=scope)
    amounts = "SELECT cash_amount FROM polygon_dividends WHERE ticker = 'AAA'"
    assert [ask(lake, at, amounts) for at in (APRIL, JUNE + DAY)] == [[(0.62,)], [(0.34,)]]
    assert ask(lake, JUNE + DAY, "SELECT count(*) FROM gaps") == [(0,)]


def test_a_replay_reads_newer_captures_of_every_scope(tmp_path):
    archive = Archive(tmp_path, "polygon_dividends", tickers=("AAA",))
    archive.take(of_all(declared(0.1, "BBB")), at=FEBRUARY, scope=OTHER)
    lake = archive.lake()
    archive.replay(lake, scope=OTHER)
    archive.take(of_all(declared(0.62)), at=MARCH, scope=TICKER)
    archive.take(of_all(declared(0.34)), at=JUNE, scope=DAYS)
    archive.replay(lake, scope=DAYS)
    amounts = "SELECT cash_amount FROM polygon_dividends WHERE ticker = 'AAA'"
    assert [ask(lake, at, amounts) for at in (APRIL, JUNE + DAY)] == [[(0.62,)], [(0.34,)]]


def test_a_replay_killed_between_two_captures_resumes_where_it_stopped(aaa, monkeypatch):
    lake, publish, calls = aaa.lake(), Lake.publish, []

    def dies(self, *args, **names):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return publish(self, *args, **names)

    monkeypatch.setattr(Lake, "publish", dies)
    with pytest.raises(KeyboardInterrupt):
        aaa.replay(lake)
    assert ask(lake, JUNE + DAY, EPS) == [(0.62,)]
    aaa.replay(lake)
    assert [ask(lake, at, EPS) for at in (APRIL, JUNE + DAY)] == [[(0.62,)], [(0.34,)]]


def test_a_page_left_uncaptured_by_a_killed_run_is_a_gap(tmp_path):
    archive = Archive(tmp_path, "polygon_splits", tickers=("AAA",))
    archive.take(splits(EARLY), at=MARCH)
    with pytest.raises(Died):
        archive.take(splits(EARLY, LATE) | {"next_url": "https://x.example/?cursor=1"}, at=JUNE)
    lake = archive.lake()
    archive.replay(lake)
    at = [instant for instant, _ in ask(lake, JUNE + DAY, FOUND.format("polygon_splits ORDER BY ALL"))]
    assert at == [datetime(2024, 2, 22, 21, tzinfo=timezone.utc), JUNE]
    assert ask(lake, JUNE + DAY, "SELECT gap_type, reason FROM gaps") == [("upstream_error", "never captured")]


def splits(*days):
    return of_all(*({"id": f"P{number}", "ticker": "AAA", "execution_date": day, "split_from": 1, "split_to": 4}
                    for number, day in enumerate(days)))  # fmt: skip


PRICE = dict.fromkeys(("1. open", "2. high", "3. low", "4. close"), "10.0") | {"5. volume": "9"}


def bars(*days, series="Time Series (Daily)"):
    return {"Meta Data": {"2. Symbol": "AAA", "5. Time Zone": "US/Eastern"}, series: dict.fromkeys(days, PRICE)}


def minutes(*days):
    series = {f"{day} 10:00:00": PRICE for day in days}
    about = {"2. Symbol": "AAA", "4. Interval": "5min", "6. Time Zone": "US/Eastern"}
    return {"Meta Data": about, "Time Series (5min)": series}


def articles(*days):
    return [
        {"id": number, "created": f"{datetime.fromisoformat(day):%a, %d %b %Y} 12:00:00 -0500", "title": "Results",
         "body": "Text.", "stocks": [{"name": "AAA"}]}
        for number, day in enumerate(days)
    ]  # fmt: skip


def observations(*days):
    rows = [{"realtime_start": "2024-02-26", "realtime_end": "9999-12-31", "date": day, "value": "1"} for day in days]
    answer = {"realtime_start": "1776-07-04", "realtime_end": "9999-12-31", "observations": rows}
    return {"vintage_dates": ["2024-02-26"]}, answer, {"releases": [{"id": 18}]}, {"release_dates": []}


AAA = {"tickers": ("AAA",)}
EARLY, LATE = "2024-02-22", "2024-02-26"
FRIDAYS = {EARLY: "2024-02-16", LATE: "2024-02-23"}
WHOLE = {
    "polygon_splits": (AAA, splits),
    "polygon_splits in days": (AAA | {"date_from": date(2024, 2, 1)}, splits),
    "polygon_splits of every ticker": ({"date_from": date(2024, 2, 1)}, splits),
    "polygon_dividends": (AAA, lambda *days: of_all(*(
        {"ticker": "AAA", "cash_amount": 0.5, "declaration_date": day, "ex_dividend_date": day, "dividend_type": "CD"}
        for day in days))),
    "av_earnings": (AAA, lambda *days: earnings(*(quarter("1", day, day) for day in days))),
    "av_daily_bars": (AAA, bars),
    "av_period_bars": (AAA, lambda *days: bars(*(FRIDAYS[day] for day in days), series="Weekly Time Series")),
    "av_intraday_bars": (AAA, minutes),
    "av_intraday_bars of months": (AAA | {"date_from": date(2024, 2, 1), "date_to": date(2024, 2, 28)}, minutes),
    "yahoo_earnings": (AAA, lambda *days: yahoo_events(*([f"{day}T20:30:00Z", 1.5, 1.53, 2.0] for day in days))),
    "yahoo_upgrades": (AAA, lambda *days: yahoo_ratings(*(
        {"epochGradeDate": int(datetime.fromisoformat(f"{day}T12:00Z").timestamp()), "firm": "F", "toGrade": "Buy"}
        for day in days))),
    "benzinga_news": ({"date_from": date(2024, 2, 26)}, articles),
    "benzinga_news since": ({"updated_since": datetime(2024, 2, 1, tzinfo=timezone.utc)}, articles),
    "macro_observations": ({"series": ("GDP",)}, observations),
}  # fmt: skip
FOUND = "SELECT available_at, available_at_basis FROM {}"
NO_DATA = "SELECT available_at FROM gaps WHERE gap_type = 'no_data'"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("first", [(), (EARLY,)], ids=["nothing", "another"])
@pytest.mark.parametrize("what", WHOLE)
def test_a_record_missing_from_a_complete_answer_is_dated_after_that_answer(tmp_path, what, first):
    scope, answer = WHOLE[what]
    archive = Archive(tmp_path, what.split()[0], **scope)
    for at, days in ((MARCH, first), (JUNE, (*first, LATE))):
        answers = answer(*days)
        archive.take(*(answers if isinstance(answers, tuple) else (answers,)), at=at)
    lake = archive.lake()
    archive.replay(lake)
    dates = ask(lake, JUNE + DAY, FOUND.format(archive.feed.dataset.name))
    late = [row for row in dates if row[0] > MARCH]
    assert len(dates) == len(first) + 1
    assert [(JUNE <= at < JUNE + DAY, basis) for at, basis in late] == [(True, "observed")]
    assert {basis for at, basis in dates if at <= MARCH} <= {"source_date"}
    assert len(ask(lake, JUNE + DAY, NO_DATA)) == (not first)
    assert ask(lake, APRIL, f"SELECT count(*) FROM {archive.feed.dataset.name}") == [(len(first),)]


def test_a_record_dated_between_two_complete_answers_keeps_its_source_date(tmp_path):
    archive = Archive(tmp_path, "polygon_splits", **AAA)
    archive.take(splits(), at=MARCH)
    archive.take(splits("2024-04-03"), at=JUNE)
    lake = archive.lake()
    archive.replay(lake)
    assert ask(lake, MAY, FOUND.format("polygon_splits")) == [
        (datetime(2024, 4, 3, 20, tzinfo=timezone.utc), "between_polls")
    ]


PARTS = {
    "pages are left": (Scope(tickers=("AAA",), max_pages=1), splits() | {"next_url": "https://x.example/?cursor=1"}),
    "other days": (Scope(tickers=("AAA",), date_from=date(2024, 2, 28)), splits()),
    "another ticker": (Scope(tickers=("BBB",)), splits()),
    "unreadable": (Scope(tickers=("AAA",)), {"status": "OK", "results": [7]}),
}


@pytest.mark.parametrize("part", PARTS)
def test_an_incomplete_answer_proves_no_record_missing(tmp_path, part):
    archive = Archive(tmp_path, "polygon_splits", **AAA)
    scope, body = PARTS[part]
    archive.take(body, at=MARCH, scope=scope)
    archive.take(splits(LATE), at=JUNE)
    lake = archive.lake()
    archive.replay(lake, until=MARCH + DAY, scope=scope)
    archive.replay(lake)
    (row,) = ask(lake, APRIL, FOUND.format("polygon_splits"))
    assert row == (datetime(2024, 2, 26, 21, tzinfo=timezone.utc), "source_date")


def test_an_empty_filtered_answer_does_not_prove_that_there_is_no_data(tmp_path):
    archive = Archive(tmp_path, "benzinga_news", date_from=date(2024, 2, 26), tickers=("BBB",))
    archive.take([], at=MARCH)
    lake = archive.lake()
    archive.replay(lake)
    assert ask(lake, APRIL, "SELECT gap_type FROM gaps") == [("unverifiable",)]
