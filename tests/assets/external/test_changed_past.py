"""When a provider changes earlier statements, past answers stay the same and no record appears twice."""

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
from tests.answers import captured, poll_without_splits, yahoo_events, yahoo_ratings

FIRST = datetime(2025, 3, 3, 15, tzinfo=timezone.utc)
WEEK = timedelta(days=7)


class World:
    """A feed that is run several times, each time on one response per request."""

    def __init__(self, lake, name, releases=None, **scope):
        self.lake, self.feed, self.scope = lake, all_feeds()[name], Scope(**scope)
        self.runs, self.releases = 0, releases
        if "polygon_splits" in self.feed.after:
            poll_without_splits(lake, *self.scope.tickers)

    def hears(self, *bodies, at):
        """Run the feed on these responses, fetched at `at`, and return its report."""
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

    def as_of(self, at, columns):
        """Return the rows of the view as of an instant, or plain values if there is only one column."""
        name = self.feed.dataset.name
        with connect(at, lake=self.lake, datasets=[name]) as session:
            rows = session.sql(f"SELECT {columns} FROM {name} ORDER BY ALL").rows()
        return rows if "," in columns else [row[0] for row in rows]


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


def both(*answers):
    return {"status": "OK", "results": [record for answer in answers for record in answer["results"]]}


def splits(*ratios, **more):
    split = {"ticker": "QBRY", "execution_date": "2024-06-10", "split_from": 1} | more
    return {"status": "OK", "results": [split | {"split_to": to} for to in ratios]}


def ratings(*days):
    return yahoo_ratings(
        *({"epochGradeDate": at, "firm": firm, "toGrade": grade, "action": "up"} for at, firm, grade in days)
    )


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


VINTAGES = ("2014-04-30", "2014-05-29")


def vintages(*values):
    rows = [
        {"realtime_start": day, "realtime_end": "9999-12-31", "date": "2014-01-01", "value": value}
        for day, value in zip(VINTAGES, values, strict=True)
    ]
    answer = {"realtime_start": "1776-07-04", "realtime_end": "9999-12-31", "observations": rows}
    return {"vintage_dates": list(VINTAGES)}, answer, {"releases": [{"id": 18}]}, {"release_dates": []}


def article(body, updated):
    item = {"id": 7, "created": "Thu, 01 Feb 2024 10:00:00 -0400", "title": "Results", "body": body, "stocks": []}
    return [item | ({"updated": updated} if updated else {})]


QAU, QBRY = ("polygon_dividends", {"tickers": ("QAU",)}), ("polygon_splits", {"tickers": ("QBRY",)})
GRADES, ASSETS = (
    ("yahoo_upgrades", {"tickers": ("QACB",)}),
    ("sec_facts", {"ciks": ("320193",), "releases": Accepted()}),
)
NEWS, GDP = ("benzinga_news", {"date_from": date(2024, 2, 1)}), ("macro_observations", {"series": ("GDP",)})
PAST, SUMMER, LATER, BETWEEN = "2024-06-01T00:00:00-04:00", "2024-06-20T00:00:00-04:00", FIRST + WEEK, FIRST + WEEK / 2
NOON, ELEVEN = "Thu, 01 Feb 2024 12:00:00 -0400", "Thu, 01 Feb 2024 11:00:00 -0400"
HALF, BLANK = dividends(0.5), [article("", ELEVEN)[0] | {"title": "", "body": ""}]
JULY, HOURS = 1720008011, 3600  # 3 July 2024, 08:00 in New York
JUNE_7, JUNE_10, JUNE_13, JUNE_14, JUNE_21 = (date(2024, 6, day) for day in (7, 10, 13, 14, 21))
GRADE, ID = "epoch(graded_at)::BIGINT, firm, to_grade", "dividend_id, cash_amount"
CASES = {
    "a dividend joins another of its day": (QAU, (HALF, dividends(0.5, 0.4)), "cash_amount",
        {PAST: [0.5], LATER: [0.4, 0.5]}, 1),
    "a dividend joins before another of its day": (QAU, (HALF, dividends(0.4, 0.5)), "cash_amount",
        {PAST: [0.5], LATER: [0.4, 0.5]}, 1),
    "two dividends join one": (QAU, (HALF, dividends(0.6, 0.5, 0.4)), "cash_amount",
        {PAST: [0.5], LATER: [0.4, 0.5, 0.6]}, 2),
    "one of an earlier declaration joins": (
        QAU, (HALF, both(dividends(0.2, declaration_date="2024-04-01"), HALF)), "cash_amount",
        {PAST: [0.5], LATER: [0.2, 0.5]}),
    "a corrected dividend": (QAU, (HALF, dividends(0.55, declaration_date="2024-04-30")), "cash_amount",
        {PAST: [0.5], BETWEEN: [0.5], FIRST + 2 * WEEK: [0.55]}),
    "an id tells dividends apart": (
        QAU, (both(dividends(0.5, id="a"), dividends(0.4, id="b")),
              both(dividends(0.4, id="a"), dividends(0.5, id="b"))), ID,
        {PAST: [("a", 0.5), ("b", 0.4)], LATER: [("a", 0.4), ("b", 0.5)]}),
    "a correction under a new id": (
        QAU, (both(dividends(0.5, id="a"), dividends(0.3, id="b")),
              both(dividends(0.3, id="b"), dividends(0.4, id="c"))), ID,
        {PAST: [("a", 0.5), ("b", 0.3)], LATER: [("b", 0.3), ("c", 0.4)]}),
    "a new id beside the old one is another dividend": (
        QAU, (dividends(0.5, id="a"), both(dividends(0.5, id="a"), dividends(0.4, id="b"))), "cash_amount",
        {PAST: [0.5], LATER: [0.4, 0.5]}),
    "a corrected ratio is no second split": (QBRY, (splits(4), splits(10)), "split_to", {SUMMER: [4.0], LATER: [10.0]}),
    **{f"a split of {ratio} under a new id is no second one": (
        QBRY, (splits(4, id="a"), splits(ratio, id="b")), "split_to, split_id",
        {SUMMER: [(4.0, "a")], LATER: [(float(ratio), "b")]}) for ratio in (4, 10)},
    **{f"a corrected ex-date is no second dividend {more}": (
        QAU, (dividends(0.5, **more), dividends(0.5, ex_dividend_date="2024-06-13", **more)), "ex_dividend_date",
        {PAST: [JUNE_14], LATER: [JUNE_13]}) for more in ({}, {"id": "a"})},
    "a dividend a week later is another": (
        QAU, (HALF, dividends(0.5, ex_dividend_date="2024-06-21", declaration_date="2024-05-09")), "ex_dividend_date",
        {PAST: [JUNE_14], LATER: [JUNE_14, JUNE_21]}),
    **{f"a corrected day is no second split {more}": (
        QBRY, (splits(10, **more), splits(10, execution_date="2024-06-07", **more)), "execution_date",
        {FIRST: [JUNE_10], LATER: [JUNE_7]}) for more in ({}, {"id": "a"})},
    "a dividend that was a gap under another day": (
        QAU, (dividends(0.5, declaration_date=None), dividends(0.5, ex_dividend_date="2024-06-13")), "cash_amount",
        {BETWEEN: [], LATER: [0.5]}),
    **{f"a rating moved by {moved} seconds is no second one": (
        GRADES, (ratings((JULY, "Harbor", "Buy"), (JULY + 48 * HOURS, "Other", "Sell")),
                 ratings((JULY + moved, "Harbor", "Hold"), (JULY + 48 * HOURS, "Other", "Sell"))), GRADE,
        {BETWEEN: [(JULY, "Harbor", "Buy"), (JULY + 48 * HOURS, "Other", "Sell")],
         LATER: sorted([(JULY + moved, "Harbor", "Hold"), (JULY + 48 * HOURS, "Other", "Sell")])})
        for moved in (1, -40 * HOURS, 5 * 24 * HOURS)},
    "a rating that was a gap under another instant": (
        GRADES, (ratings((JULY, "Harbor", 7)), ratings((JULY + HOURS, "Harbor", "Buy"))), "to_grade",
        {BETWEEN: [], LATER: ["Buy"]}),
    "a rating days after another of its firm is another": (
        GRADES, (ratings((JULY, "Harbor", "Buy")),
                 ratings((JULY, "Harbor", "Buy"), (JULY - 48 * HOURS, "Harbor", "Hold"))), "to_grade",
        {"2024-08-01T00:00:00-04:00": ["Buy"], LATER: ["Buy", "Hold"]}),
    "a fact moved to another filing": (ASSETS, (facts(("2024-02-01", 1)), facts(("2024-05-01", 2))), "value",
        {BETWEEN: ["1"], LATER: ["2"]}),
    "a fact that a filing since the last look restates keeps its release": (
        ASSETS, (facts(("2024-02-01", 1), ("2024-05-01", 2)),
                 facts(("2024-02-01", 1), ("2024-05-01", 2), ("2025-03-06", 3))), "value",
        {"2024-03-01T00:00:00-05:00": ["1"], "2025-03-06T13:00:00+00:00": ["3"]}),
    "an old vintage that is rewritten stays older than the next": (
        GDP, (vintages("17149.6", "17101.3"), vintages("17150.0", "17101.3")), "value",
        {"2014-05-10T00:00:00-04:00": [17149.6], FIRST + 2 * WEEK: [17101.3]}),
    "a text that claims an update before the last look": (
        NEWS, (article("As it was.", ELEVEN), article("As it was.", ELEVEN),
               article("Rewritten.", "Thu, 06 Mar 2025 12:00:00 -0500")), "body",
        {FIRST + 1.9 * WEEK: ["As it was."], FIRST + 2 * WEEK: ["Rewritten."]}),
    **{f"a text whose date goes back to {claimed}": (
        NEWS, (article("As it was.", NOON), *[article("Rewritten.", claimed)] * 2), "body",
        {"2024-02-01T11:30:00-04:00": [], BETWEEN: ["As it was."], LATER: ["Rewritten."]})
        for claimed in (ELEVEN, None)},
    "an article that had no text": (NEWS, (BLANK, article("Written.", ELEVEN)), "body",
        {BETWEEN: [], LATER: ["Written."]}),
}  # fmt: skip
"""Each case, by name: the feed, its weekly responses, the queried columns, their rows as of each instant, and the
number of records that the last response publishes."""


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_changed_statement_is_a_revision_dated_when_it_was_seen(world, case):
    (name, scope), answers, columns, due, *published = case
    feed = world(name, **scope)
    for number, answer in enumerate(answers):
        report = feed.hears(*(answer if isinstance(answer, tuple) else (answer,)), at=FIRST + number * WEEK)
    assert {at: feed.as_of(at, columns) for at in due} == due
    assert published in ([], [report.outcome.total.published])


def test_an_upcoming_split_is_excluded_as_not_public_yet(world):
    qbry = world("polygon_splits", tickers=("QBRY",))
    report = qbry.hears(splits(10), at=datetime(2024, 6, 3, 12, tzinfo=timezone.utc))
    assert dict(report.gaps) == {("pit_excluded", "not public yet"): 1}


def test_an_event_moved_to_another_day_supersedes_the_first_statement(world):
    spring, summer = ["2024-05-02T20:30:00Z", 1.5, 1.53, 2.0], ["2024-08-01T20:30:00Z", 1.3, 1.4, 7.0]
    apple = world("yahoo_earnings", tickers=("QACB",))
    apple.hears(yahoo_events(summer, spring), at=FIRST)
    apple.hears(yahoo_events(summer, ["2024-05-01T20:30:00Z", *spring[1:]]), at=LATER)
    august = date(2024, 8, 1)
    assert [apple.as_of(at, "event_date") for at in (BETWEEN, LATER)] == [
        [date(2024, 5, 2), august], [date(2024, 5, 1), august],
    ]  # fmt: skip
    assert apple.hears(yahoo_events(summer, spring), at=FIRST).outcome.total.published == 0


def test_an_older_panel_fetched_later_does_not_replace_the_newer_vintage(world):
    for month, value, at in (("2024-02", 2, FIRST), ("2024-01", 1, FIRST + WEEK)):
        panel = world("macro_panels", series=(month,))
        panel.runs = at.day
        panel.hears(f"sasdate,RPI\n1/1/2024,{value}\n".encode(), at=at)
    assert panel.as_of(FIRST + 2 * WEEK, "vintage, value") == [("2024-02", 2.0)]


@pytest.mark.parametrize("ahead", [timedelta(days=1), timedelta(days=20_000)])
def test_a_blank_article_dated_after_its_answer_is_a_gap_and_does_not_fail_the_run(world, ahead):
    news = world("benzinga_news", date_from=date(2024, 2, 1))
    claimed = (FIRST + ahead).strftime("%a, %d %b %Y %H:%M:%S +0000")
    report = news.hears([article("", claimed)[0] | {"title": ""}], at=FIRST)
    assert dict(report.gaps) == {("no_data", "no text"): 1}


def test_an_older_answer_replayed_later_is_a_gap_and_changes_no_past_answer(world):
    news = world("benzinga_news", date_from=date(2024, 2, 1))
    news.hears(article("As it was.", NOON), at=FIRST)
    report = news.hears(article("At first.", ELEVEN), at=FIRST - 50 * WEEK)
    assert dict(report.gaps) == {(SEEN_LATER.type, SEEN_LATER.reason): 1}
    assert news.as_of("2024-02-01T11:30:00-04:00", "body") == []
    assert news.as_of(FIRST, "body") == ["As it was."]


def test_a_page_found_by_several_queries_stays_a_single_row_as_first_seen(world):
    for ask in ("one", "two", "one", "two"):
        web = world("web_results", queries=(ask,))
        web.runs = len(ask) + (at := {"one": 1, "two": 2}[ask])
        page = {"url": "https://example.com/a", "title": "A", "snippet": f"Passage {ask}.", "date": "2024-02-01"}
        report = web.hears({"results": [page]}, at=FIRST + at * WEEK)
    assert report.outcome.total.published == 0
    assert web.as_of("2024-02-03T00:00:00-05:00", "url") == []
    assert len(web.as_of(FIRST + 2 * WEEK, "url")) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [(dividends(None), HALF), (HALF, dividends(None)), (HALF, dividends(0.6)),
     (dividends(0.5, id="a"), dividends(0.6, id="b"))],
)  # fmt: skip
def test_a_correction_by_polygon_leaves_past_answers_unchanged(world, before, after):
    qau = world("polygon_dividends", tickers=("QAU",))
    qau.hears(before, at=FIRST)
    then = qau.as_of(PAST, "cash_amount, ex_dividend_date")
    qau.hears(after, at=FIRST + WEEK)
    assert qau.as_of(PAST, "cash_amount, ex_dividend_date") == then
    assert len(qau.as_of(FIRST + WEEK, "cash_amount")) <= 1
