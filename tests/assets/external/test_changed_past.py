"""A provider changes earlier statements: past answers stay the same, and no record appears twice."""

import json
from datetime import date, datetime, timedelta, timezone
from types import SimpleNamespace

import pytest

from assets.external import all_feeds
from assets.feeds.feed import Scope
from assets.feeds.runs import run_feed
from pitlake import connect
from pitlake.contract import SEEN_LATER
from pitlake.lake.publishing.publish import Published
from resources.http.capture import CaptureStore
from tests.answers import captured, poll_without_splits

FIRST = datetime(2025, 3, 3, 15, tzinfo=timezone.utc)
WEEK = timedelta(days=7)


class World:
    """A feed that is run several times, each time with one answer per request of its scope."""

    def __init__(self, lake, name, releases=None, **scope):
        self.lake, self.feed, self.scope = lake, all_feeds()[name], Scope(**scope)
        self.runs, self.releases = 0, releases
        if "polygon_splits" in self.feed.after:
            poll_without_splits(lake, *self.scope.tickers)

    def hears(self, *bodies, at):
        """Run the feed with these answers at this instant. Returns its counts."""
        answers = iter(bodies)

        def fetch(request):
            body = next(answers)
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            return captured(self.feed.provider, request, content, fetched_at=at, headers={})

        self.runs += 1
        client = SimpleNamespace(fetch=fetch, mode="replay", store=CaptureStore.of(self.lake.root))
        report = run_feed(self.feed, self.scope, client, self.lake, run_id=f"run-{self.runs}", releases=self.releases)
        assert isinstance(report.outcome, Published), report.outcome
        return report

    def as_of(self, at, *columns):
        """Return the view's rows at an instant."""
        name = self.feed.dataset.name
        with connect(at, lake=self.lake, datasets=[name]) as session:
            table = session.sql(f"SELECT {', '.join(columns)} FROM {name} ORDER BY ALL").arrow()
            return [tuple(row.values()) for row in table.to_pylist()]


@pytest.fixture
def world(lake):
    return lambda name, **scope: World(lake, name, **scope)


def dividends(*amounts, **more):
    return {
        "status": "OK",
        "results": [
            {"ticker": "QAU", "cash_amount": amount, "declaration_date": "2024-05-02", "ex_dividend_date": "2024-06-14",
             "dividend_type": "CD", "frequency": 4} | more
            for amount in amounts
        ],
    }  # fmt: skip


PAST = "2024-06-01T00:00:00-04:00"


@pytest.mark.parametrize("later", [(0.5, 0.4), (0.4, 0.5), (0.6, 0.5, 0.4)])
def test_a_dividend_that_joins_another_of_its_day_leaves_it_as_it_was(world, later):
    qau = world("polygon_dividends", tickers=("QAU",))
    qau.hears(dividends(0.5), at=FIRST)
    report = qau.hears(dividends(*later), at=FIRST + WEEK)
    assert qau.as_of(PAST, "cash_amount") == [(0.5,)]
    assert qau.as_of(FIRST + WEEK, "cash_amount") == [(amount,) for amount in sorted(later)]
    assert report.outcome.total.published == len(later) - 1


def test_a_dividend_of_an_earlier_declaration_joins_without_doubling(world):
    qau = world("polygon_dividends", tickers=("QAU",))
    qau.hears(dividends(0.5), at=FIRST)
    earlier = dividends(0.2, declaration_date="2024-04-01")["results"]
    qau.hears({"status": "OK", "results": [*earlier, *dividends(0.5)["results"]]}, at=FIRST + WEEK)
    assert qau.as_of(PAST, "cash_amount") == [(0.5,)]
    assert qau.as_of(FIRST + WEEK, "cash_amount") == [(0.2,), (0.5,)]


def test_a_corrected_dividend_is_a_revision_dated_when_it_was_seen(world):
    qau = world("polygon_dividends", tickers=("QAU",))
    qau.hears(dividends(0.5), at=FIRST)
    qau.hears(dividends(0.55, declaration_date="2024-04-30"), at=FIRST + WEEK)
    assert qau.as_of(PAST, "cash_amount") == qau.as_of(FIRST + WEEK / 2, "cash_amount") == [(0.5,)]
    assert qau.as_of(FIRST + 2 * WEEK, "cash_amount") == [(0.55,)]


def test_an_id_tells_dividends_apart_whatever_else_changes(world):
    qau = world("polygon_dividends", tickers=("QAU",))
    qau.hears({"results": [*dividends(0.5, id="a")["results"], *dividends(0.4, id="b")["results"]]}, at=FIRST)
    swapped = [*dividends(0.4, id="a")["results"], *dividends(0.5, id="b")["results"]]
    qau.hears({"results": swapped}, at=FIRST + WEEK)
    assert qau.as_of(FIRST + WEEK, "dividend_id", "cash_amount") == [("a", 0.4), ("b", 0.5)]
    assert qau.as_of(PAST, "dividend_id", "cash_amount") == [("a", 0.5), ("b", 0.4)]


def test_a_correction_under_a_new_id_is_a_revision_dated_when_it_was_seen(world):
    qau = world("polygon_dividends", tickers=("QAU",))
    qau.hears({"results": [*dividends(0.5, id="a")["results"], *dividends(0.3, id="b")["results"]]}, at=FIRST)
    corrected = [*dividends(0.3, id="b")["results"], *dividends(0.4, id="c")["results"]]
    qau.hears({"results": corrected}, at=FIRST + WEEK)
    assert qau.as_of(PAST, "cash_amount") == [(0.3,), (0.5,)]
    assert qau.as_of(FIRST + WEEK, "dividend_id", "cash_amount") == [("b", 0.3), ("c", 0.4)]


def test_a_dividend_under_a_new_id_beside_the_old_one_is_another(world):
    qau = world("polygon_dividends", tickers=("QAU",))
    qau.hears(dividends(0.5, id="a"), at=FIRST)
    both = [*dividends(0.5, id="a")["results"], *dividends(0.4, id="b")["results"]]
    qau.hears({"results": both}, at=FIRST + WEEK)
    assert qau.as_of(PAST, "cash_amount") == [(0.5,)]
    assert qau.as_of(FIRST + WEEK, "cash_amount") == [(0.4,), (0.5,)]


def splits(*ratios, **more):
    split = {"ticker": "QBRY", "execution_date": "2024-06-10", "split_from": 1} | more
    return {"status": "OK", "results": [split | {"split_to": to} for to in ratios]}


def test_a_corrected_ratio_is_a_revision_and_no_second_split(world):
    qbry = world("polygon_splits", tickers=("QBRY",))
    qbry.hears(splits(4), at=FIRST)
    qbry.hears(splits(10), at=FIRST + WEEK)
    assert qbry.as_of("2024-06-20T00:00:00-04:00", "split_to") == [(4.0,)]
    assert qbry.as_of(FIRST + WEEK, "split_to") == [(10.0,)]


@pytest.mark.parametrize("ratio", [4, 10])
def test_a_split_under_a_new_id_is_no_second_split(world, ratio):
    qbry = world("polygon_splits", tickers=("QBRY",))
    qbry.hears(splits(4, id="a"), at=FIRST)
    qbry.hears(splits(ratio, id="b"), at=FIRST + WEEK)
    assert qbry.as_of("2024-06-20T00:00:00-04:00", "split_to", "split_id") == [(4.0, "a")]
    assert qbry.as_of(FIRST + WEEK, "split_to", "split_id") == [(float(ratio), "b")]


@pytest.mark.parametrize("more", [{}, {"id": "a"}])
def test_a_dividend_s_corrected_ex_date_is_a_revision_and_no_second_dividend(world, more):
    qau = world("polygon_dividends", tickers=("QAU",))
    qau.hears(dividends(0.5, **more), at=FIRST)
    qau.hears(dividends(0.5, ex_dividend_date="2024-06-13", **more), at=FIRST + WEEK)
    days = [[str(day) for (day,) in qau.as_of(at, "ex_dividend_date")] for at in (PAST, FIRST + WEEK)]
    assert days == [["2024-06-14"], ["2024-06-13"]]


def test_a_dividend_a_week_from_one_that_is_out_of_the_window_is_another(world):
    qau = world("polygon_dividends", tickers=("QAU",))
    qau.hears(dividends(0.5), at=FIRST)
    qau.hears(dividends(0.5, ex_dividend_date="2024-06-21", declaration_date="2024-05-09"), at=FIRST + WEEK)
    days = [[str(day) for (day,) in qau.as_of(at, "ex_dividend_date")] for at in (PAST, FIRST + WEEK)]
    assert days == [["2024-06-14"], ["2024-06-14", "2024-06-21"]]


@pytest.mark.parametrize("more", [{}, {"id": "a"}])
def test_a_split_s_corrected_day_is_a_revision_and_no_second_split(world, more):
    qbry = world("polygon_splits", tickers=("QBRY",))
    qbry.hears(splits(10, **more), at=FIRST)
    qbry.hears(splits(10, execution_date="2024-06-07", **more), at=FIRST + WEEK)
    days = [[str(day) for (day,) in qbry.as_of(at, "execution_date")] for at in (FIRST, FIRST + WEEK)]
    assert days == [["2024-06-10"], ["2024-06-07"]]


def test_a_dividend_that_was_a_gap_under_another_day_is_dated_when_it_was_seen(world):
    qau = world("polygon_dividends", tickers=("QAU",))
    qau.hears(dividends(0.5, declaration_date=None), at=FIRST)
    qau.hears(dividends(0.5, ex_dividend_date="2024-06-13"), at=FIRST + WEEK)
    assert qau.as_of(FIRST + WEEK / 2, "cash_amount") == []
    assert qau.as_of(FIRST + WEEK, "cash_amount") == [(0.5,)]


def test_a_split_that_was_to_come_is_no_fact_of_its_day(world):
    qbry = world("polygon_splits", tickers=("QBRY",))
    report = qbry.hears(splits(10), at=datetime(2024, 6, 3, 12, tzinfo=timezone.utc))
    assert dict(report.gaps) == {("pit_excluded", "not public yet"): 1}


def events(*rows):
    columns = [{"id": name} for name in ("startdatetime", "epsestimate", "epsactual", "epssurprisepct")]
    return {"finance": {"result": [{"documents": [{"columns": columns, "rows": list(rows)}]}], "error": None}}


SPRING, SUMMER = ["2024-05-02T20:30:00Z", 1.5, 1.53, 2.0], ["2024-08-01T20:30:00Z", 1.3, 1.4, 7.0]


def test_an_event_moved_to_another_day_supersedes_what_was_stated_first(world):
    apple = world("yahoo_earnings", tickers=("QACB",))
    apple.hears(events(SUMMER, SPRING), at=FIRST)
    moved = ["2024-05-01T20:30:00Z", *SPRING[1:]]
    apple.hears(events(SUMMER, moved), at=FIRST + WEEK)
    days = [[str(day) for (day,) in apple.as_of(at, "event_date")] for at in (FIRST + WEEK / 2, FIRST + WEEK)]
    assert days == [["2024-05-02", "2024-08-01"], ["2024-05-01", "2024-08-01"]]
    again = apple.hears(events(SUMMER, SPRING), at=FIRST)
    assert again.outcome.total.published == 0


def ratings(*days):
    history = [{"epochGradeDate": at, "firm": firm, "toGrade": grade, "action": "up"} for at, firm, grade in days]
    return {"quoteSummary": {"result": [{"upgradeDowngradeHistory": {"history": history}}], "error": None}}


JULY, HOURS = 1720008011, 3600  # 3 July 2024, 08:00 in New York


@pytest.mark.parametrize("moved", [1, -40 * HOURS, 5 * 24 * HOURS])
def test_a_rating_whose_instant_is_corrected_is_a_revision_and_no_second_rating(world, moved):
    apple = world("yahoo_upgrades", tickers=("QACB",))
    other = JULY + 48 * HOURS, "Other", "Sell"
    apple.hears(ratings((JULY, "Harbor", "Buy"), other), at=FIRST)
    then = apple.as_of(FIRST + WEEK / 2, "graded_at", "firm", "to_grade")
    apple.hears(ratings((JULY + moved, "Harbor", "Hold"), other), at=FIRST + WEEK)
    assert apple.as_of(FIRST + WEEK / 2, "graded_at", "firm", "to_grade") == then
    assert apple.as_of(FIRST + WEEK, "firm", "to_grade") == [("Harbor", "Hold"), ("Other", "Sell")]


def test_a_rating_that_was_a_gap_under_another_instant_is_dated_when_it_was_seen(world):
    apple = world("yahoo_upgrades", tickers=("QACB",))
    apple.hears(ratings((JULY, "Harbor", 7)), at=FIRST)
    apple.hears(ratings((JULY + HOURS, "Harbor", "Buy")), at=FIRST + WEEK)
    assert apple.as_of(FIRST + WEEK / 2, "to_grade") == []
    assert apple.as_of(FIRST + WEEK, "to_grade") == [("Buy",)]


def test_a_rating_days_after_another_of_its_firm_is_another(world):
    apple = world("yahoo_upgrades", tickers=("QACB",))
    apple.hears(ratings((JULY, "Harbor", "Buy")), at=FIRST)
    apple.hears(ratings((JULY, "Harbor", "Buy"), (JULY - 48 * HOURS, "Harbor", "Hold")), at=FIRST + WEEK)
    assert apple.as_of("2024-08-01T00:00:00-04:00", "to_grade") == [("Buy",)]
    assert apple.as_of(FIRST + WEEK, "to_grade") == [("Buy",), ("Hold",)]


class Accepted:
    """Filings that EDGAR released at noon UTC of their filing date."""

    def release(self, _accession_no, _cik, filed):
        at = datetime(filed.year, filed.month, filed.day, 12, tzinfo=timezone.utc)
        return SimpleNamespace(at=at, rule="filing_date", accepted_at=at)


def facts(*values):
    statements = [
        {"end": "2023-12-31", "val": value, "accn": f"0000320193-{filed[2:4]}-{number:06}", "form": "10-K",
         "filed": filed}
        for number, (filed, value) in enumerate(values)
    ]  # fmt: skip
    return {"cik": 320193, "facts": {"us-gaap": {"Assets": {"units": {"USD": statements}}}}}


def test_a_fact_moved_to_another_filing_is_dated_when_it_was_seen(world):
    apple = world("sec_facts", ciks=("320193",), releases=Accepted())
    apple.hears(facts(("2024-02-01", 1)), at=FIRST)
    apple.hears(facts(("2024-05-01", 2)), at=FIRST + WEEK)
    assert apple.as_of(FIRST + WEEK / 2, "value") == [("1",)]
    assert apple.as_of(FIRST + WEEK, "value") == [("2",)]


def test_a_fact_that_a_filing_since_the_last_look_restates_keeps_its_release(world):
    apple = world("sec_facts", ciks=("320193",), releases=Accepted())
    apple.hears(facts(("2024-02-01", 1), ("2024-05-01", 2)), at=FIRST)
    apple.hears(facts(("2024-02-01", 1), ("2024-05-01", 2), ("2025-03-06", 3)), at=FIRST + WEEK)
    assert apple.as_of("2024-03-01T00:00:00-05:00", "value") == [("1",)]
    assert apple.as_of("2025-03-06T13:00:00+00:00", "value") == [("3",)]


VINTAGES = ("2014-04-30", "2014-05-29")


def vintages(*values):
    rows = [
        {"realtime_start": day, "realtime_end": "9999-12-31", "date": "2014-01-01", "value": value}
        for day, value in zip(VINTAGES, values, strict=True)
    ]
    answer = {"realtime_start": "1776-07-04", "realtime_end": "9999-12-31", "observations": rows}
    return {"vintage_dates": list(VINTAGES)}, answer, {"releases": [{"id": 18}]}, {"release_dates": []}


def test_an_old_vintage_that_is_rewritten_stays_older_than_the_next_one(world):
    gdp = world("macro_observations", series=("GDP",))
    gdp.hears(*vintages("17149.6", "17101.3"), at=FIRST)
    gdp.hears(*vintages("17150.0", "17101.3"), at=FIRST + WEEK)
    assert gdp.as_of("2014-05-10T00:00:00-04:00", "value") == [(17149.6,)]
    assert gdp.as_of(FIRST + 2 * WEEK, "value") == [(17101.3,)]


def test_an_older_panel_fetched_later_stays_the_older_one(world):
    for month, value, at in (("2024-02", 2, FIRST), ("2024-01", 1, FIRST + WEEK)):
        panel = world("macro_panels", series=(month,))
        panel.runs = at.day
        panel.hears(f"sasdate,RPI\n1/1/2024,{value}\n".encode(), at=at)
    assert panel.as_of(FIRST + 2 * WEEK, "vintage", "value") == [("2024-02", 2.0)]


def article(body, updated):
    item = {"id": 7, "created": "Thu, 01 Feb 2024 10:00:00 -0400", "title": "Results", "body": body, "stocks": []}
    return [item | ({"updated": updated} if updated else {})]


NOON, ELEVEN = "Thu, 01 Feb 2024 12:00:00 -0400", "Thu, 01 Feb 2024 11:00:00 -0400"


@pytest.mark.parametrize("claimed", [ELEVEN, None])
def test_a_text_whose_date_goes_back_is_a_revision_dated_when_it_was_seen(world, claimed):
    news = world("benzinga_news", date_from=date(2024, 2, 1))
    news.hears(article("As it was.", NOON), at=FIRST)
    for _ in range(2):
        news.hears(article("Rewritten.", claimed), at=FIRST + WEEK)
    assert news.as_of("2024-02-01T11:30:00-04:00", "body") == []
    assert news.as_of(FIRST + WEEK / 2, "body") == [("As it was.",)]
    assert news.as_of(FIRST + WEEK, "body") == [("Rewritten.",)]


@pytest.mark.parametrize("ahead", [timedelta(days=1), timedelta(days=20_000)])
def test_an_article_without_text_that_claims_a_date_after_its_answer_refuses_no_run(world, ahead):
    news = world("benzinga_news", date_from=date(2024, 2, 1))
    claimed = (FIRST + ahead).strftime("%a, %d %b %Y %H:%M:%S +0000")
    report = news.hears([article("", claimed)[0] | {"title": ""}], at=FIRST)
    assert dict(report.gaps) == {("no_data", "no text"): 1}


def test_an_older_answer_replayed_later_leaves_the_past_as_it_was_and_is_a_gap(world):
    news = world("benzinga_news", date_from=date(2024, 2, 1))
    news.hears(article("As it was.", NOON), at=FIRST)
    report = news.hears(article("At first.", ELEVEN), at=FIRST - 50 * WEEK)
    assert dict(report.gaps) == {(SEEN_LATER.type, SEEN_LATER.reason): 1}
    assert news.as_of("2024-02-01T11:30:00-04:00", "body") == []
    assert news.as_of(FIRST, "body") == [("As it was.",)]


def found(snippet, **more):
    return {
        "results": [{"url": "https://example.com/a", "title": "A", "snippet": snippet, "date": "2024-02-01"} | more]
    }


def test_questions_that_find_one_page_leave_the_past_as_the_first_of_them_saw_it(world):
    for ask in ("one", "two", "one", "two"):
        web = world("web_results", queries=(ask,))
        web.runs = len(ask) + (at := {"one": 1, "two": 2}[ask])
        report = web.hears(found(f"Passage {ask}."), at=FIRST + at * WEEK)
    assert report.outcome.total.published == 0
    assert web.as_of("2024-02-03T00:00:00-05:00", "url") == []
    assert len(web.as_of(FIRST + 2 * WEEK, "url")) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (dividends(None), dividends(0.5)),
        (dividends(0.5), dividends(None)),
        (dividends(0.5), dividends(0.6)),
        (dividends(0.5, id="a"), dividends(0.6, id="b")),
    ],
)
def test_whatever_polygon_corrects_the_past_stays_as_it_was(world, before, after):
    qau = world("polygon_dividends", tickers=("QAU",))
    qau.hears(before, at=FIRST)
    then = qau.as_of(PAST, "cash_amount", "ex_dividend_date")
    qau.hears(after, at=FIRST + WEEK)
    assert qau.as_of(PAST, "cash_amount", "ex_dividend_date") == then
    assert len(qau.as_of(FIRST + WEEK, "cash_amount")) <= 1


def test_a_text_that_claims_an_update_before_the_last_look_is_dated_when_it_was_seen(world):
    news = world("benzinga_news", date_from=date(2024, 2, 1))
    news.hears(article("As it was.", ELEVEN), at=FIRST)
    news.hears(article("As it was.", ELEVEN), at=FIRST + WEEK)
    news.hears(article("Rewritten.", "Thu, 06 Mar 2025 12:00:00 -0500"), at=FIRST + 2 * WEEK)
    assert news.as_of(FIRST + 1.9 * WEEK, "body") == [("As it was.",)]
    assert news.as_of(FIRST + 2 * WEEK, "body") == [("Rewritten.",)]


def test_an_article_of_benzinga_that_had_no_text_shows_it_from_when_it_was_seen(world):
    news = world("benzinga_news", date_from=date(2024, 2, 1))
    blank = {"title": "", "body": ""}
    news.hears([article("", ELEVEN)[0] | blank], at=FIRST)
    news.hears(article("Written.", ELEVEN), at=FIRST + WEEK)
    assert news.as_of(FIRST + WEEK / 2, "body") == []
    assert news.as_of(FIRST + WEEK, "body") == [("Written.",)]
