"""Feeds of texts, calls and panels turn each response into dated rows, and into gaps with reasons."""

import json
from datetime import date, datetime, timedelta, timezone

import pytest

from assets.external import feed
from assets.feeds.feed import Scope
from pitlake.errors import AnswerRefused
from tests.answers import FETCHED, Played, at, captured, gaps, happened, rows
from tests.assets.external.test_benzinga import item
from tests.assets.external.test_perplexity import ASK, SEARCH, result

STATED, START, HOUR = "2024-02-01T14:00:00.000-08:00", datetime(2024, 2, 1, 22, tzinfo=timezone.utc), timedelta(hours=1)
TEXTS, SLIDES = "call_transcripts", "call_slides"
LISTED_AFTER_MIDNIGHT = "2022-01-27T14:00:00.000-08:00"


def quarters(*spelled, **options):
    return Scope(tickers=("NASDAQ:QACB",), options={"quarters": ",".join(spelled), **options})


def listed(start, year=2024, quarter=1):
    return {"year": year, "quarter": quarter, "conference_date": start}


def answering(event, listing=None, text=None, **facts):
    """Return a provider of transcripts, slides and a list of events. listing: a start or entries; None for an error."""

    def fetch(request):
        body = json.dumps({"event": event, **(text or {"text": "Words."})}).encode()
        if request.path == "events":
            if listing is None:
                raise AnswerRefused("upstream_error", "HTTP 500", "x")
            body = json.dumps({"events": listing if isinstance(listing, list) else [listed(listing)]}).encode()
        return captured(feed(TEXTS).provider, request, b"%PDF-1.4" if request.path == "slides" else body, **facts)

    return fetch


def timed(**more):
    return answering({"conference_date": STATED, **more})


def written(text):
    return answering({"conference_date": STATED}, STATED, headers={"last-modified": text})


def page(head="", headers=None):
    source = f"<html><head><title>T</title>{head}</head><body><p>Text.</p></body></html>".encode()
    headers = {"content-type": "text/html"} | (headers or {})
    return lambda ask: captured(feed("web_pages").provider, ask, source, headers=headers)


def panel(*lines, **facts):
    body = "\n".join(("sasdate,RPI,INDPRO", *lines, "")).encode()
    return lambda ask: captured(feed("macro_panels").provider, ask, body, **facts)


Q1, LAG = quarters("2024Q1"), "publication_lag_minutes"
RELEASE = Scope(queries=("https://www.prnewswire.com/releases/x",))
PUBLISHED = '<meta property="article:published_time" content="2024-02-01T21:30:00Z">'
NEWS, JANUARY, DAY_2 = Scope(date_from=date(2024, 2, 1)), Scope(series=("2024-01",)), Scope(date_from=date(2024, 1, 2))
CALL = {"exchange": "NYSE", "symbol": "QAU", "year": 2024, "quarter": 1, "conference_date": "2024-02-01T14:00:00-05:00"}
MIDNIGHTS = ("2022-01-19T00:00:00.000-08:00", "2022-01-19T05:00:00Z", "2022-01-19T00:00:00+00:00")
EMPTY, UNREADABLE = ("no_data", "the answer is valid and empty"), ("upstream_error", "the answer is unreadable")
NO_START, UNDATED = ("unverifiable", "call_start is unreadable"), ("unverifiable", "nothing dates the page")
NO_ITEM, OLD = ("unverifiable", "not a news item"), ("unverifiable", "claims of publication are implausible")
AGAIN, ODD_ITEM = ("no_data", "seen again in the same run"), ("upstream_error", "item has an unknown format")
CREATED, UPDATED = ("unverifiable", "created is missing or unreadable"), ("unverifiable", "updated is unreadable")
PROSE = {"id": "a", "choices": [{"message": {"content": "<think>hm</think> "}}]}


def bundled(name):
    return Scope(queries=(f"https://newswire.example/releases/{name}",))


CASES = {
    "a transcript is public a day after the start of its call": (
        TEXTS, Q1, timed(), [{"call_start": START, "available_at": START + 24 * HOUR, "stated_start": STATED}]),
    "a lag that is set": (TEXTS, quarters("2024Q1", **{LAG: "360"}), timed(), [{"available_at": START + 6 * HOUR}]),
    **{f"a start that the list alone states, lag {minutes}": (
        TEXTS, quarters("2024Q1", **{LAG: minutes}), answering({}, STATED),
        [{"available_at": START + hours * HOUR}], [])
        for minutes, hours in (("180", 12), ("720", 12), ("780", 13))},
    **{f"midnight is no start {midnight} {listing}": (
        TEXTS, Q1, answering({"conference_date": midnight}, listing), [{"call_start": None, "available_at": FETCHED}])
        for midnight in MIDNIGHTS for listing in (None, midnight)},
    **{f"the list's start counts beside the midnight {midnight}": (
        TEXTS, Q1, answering({"conference_date": midnight}, LISTED_AFTER_MIDNIGHT),
        [{"available_at": at("2022-01-28T22:00")}])
        for midnight in MIDNIGHTS},
    **{f"{name} that were written later": (
        name, Q1, written("Sun, 06 Oct 2024 05:12:04 GMT"),
        [{"available_at": at("2024-10-06T05:12:04"), "file_modified": at("2024-10-06T05:12:04")}])
        for name in (TEXTS, SLIDES)},
    **{f"{name} of a file from the future": (
        name, Q1, written("Sun, 06 Oct 2030 05:12:04 GMT"), [{"available_at": FETCHED}]) for name in (TEXTS, SLIDES)},
    **{f"{name} of a call listed for a later day too": (
        name, Q1, answering({"conference_date": STATED}, [
            listed(STATED), listed("2024-02-08T00:00:00.000-08:00"), listed("2024-01-08T00:00:00-05:00")]),
        [{"call_start": START, "available_at": at("2024-02-10T05:00")}]) for name in (TEXTS, SLIDES)},
    **{f"a transcript of {' and '.join(text)}": (
        TEXTS, Q1, answering({"conference_date": STATED}, [], text), [{"text": whole, "turn_count": turns}], [])
        for text, whole, turns in (
            ({"speakers": [{"speaker": "spk1", "words": ["Good", "day."], "start_times": [0.1, 0.4]}]}, "Good day.", 1),
            ({"prepared_remarks": "Good day.", "questions_and_answers": "Why?"}, "Good day.\n\nWhy?", 0),
            ({"prepared_remarks": "Good day.", "questions_and_answers": None}, "Good day.", 0),
            ({"text": "All of it.", "prepared_remarks": "All", "questions_and_answers": "of it."}, "All of it.", 0))},
    "a transcript without its event is dated by the company's list": (
        TEXTS, quarters("2023Q4"), None, [{"available_at": at("2023-11-03T21:00"), "turn_count": 0}], []),
    "a call without a date counts when fetched": (
        TEXTS, quarters("2022Q4"), None, [{"available_at": FETCHED, "call_start": None}]),
    "a refused quarter costs no other": (
        TEXTS, quarters("2030Q1", "2024Q1", "2024Q2"), None, [{}],
        [("no_data", "not there"), ("upstream_error", "the plan does not cover it, or it is not there")]),
    "of two starts the later one counts": (
        TEXTS, Q1, answering({"conference_date": "2024-02-01T14:00:00-08:00"}, "2024-02-02T09:00:00-05:00"),
        [{"available_at": at("2024-02-03T14:00")}], []),
    **{f"a publication hastens no text: {early}": (
        TEXTS, Q1, timed(published_at=early), [{"available_at": START + 24 * HOUR}])
        for early in ("2024-02-01T20:00:00-08:00", "2024-01-01T00:00:00Z", "2024-02-01T22:00:00Z", None)},
    **{f"a publication delays a text: {late}": (
        TEXTS, Q1, timed(published_at=late), [{"available_at": at(counts), "published": at(counts)}])
        for late, counts in (
            ("2024-02-03T20:00:00Z", "2024-02-03T20:00"), ("2024-02-03T00:00:00-05:00", "2024-02-04T05:00"))},
    **{f"of two publications the later one counts, {first} first": (
        TEXTS, Q1, timed(**{first: "2024-02-05T20:00:00Z", second: "2024-02-03T20:00:00Z"}),
        [{"available_at": at("2024-02-05T20:00"), "published": at("2024-02-05T20:00")}])
        for first, second in (("published_at", "publication_date"), ("publication_date", "published_at"))},
    **{f"a start that is unreadable: {start}": (TEXTS, Q1, answering({"conference_date": start}, []), [], [NO_START])
       for start in ("2024-02-01T14:00:00", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00+00:00")},
    "the list of calls is as of its download": (
        "call_events", Scope(tickers=("QACB",)), None,
        [{"available_at": FETCHED, "fiscal_year": 2024},
         {"available_at": FETCHED, "fiscal_year": 2024, "call_start": START},
         {"available_at": FETCHED, "fiscal_year": 2023}]),
    "the calendar is as of its download": (
        "call_calendar", Scope(date_from=date(2025, 2, 10)), None,
        [{"exchange": exchange, "ticker": ticker, "available_at": FETCHED}
         for exchange, ticker in (("NASDAQ", "QBAR"), ("NYSE", "QAU"))]),
    "an absent day of the calendar": (
        "call_calendar", Scope(date_from=date(2018, 1, 1)), None, [], [("no_data", "not there")]),
    **{f"a listed call of another shape: {change}": (
        "call_calendar", DAY_2, [CALL, {**CALL, "quarter": 2, **change}, CALL, "x"], [{}], [gap, AGAIN, ODD_ITEM])
        for change, gap in (({"year": "soon"}, ("unverifiable", "fiscal_year is unreadable")),
                            ({"symbol": None}, ("unverifiable", "ticker is unreadable")),
                            ({"conference_date": "2024-02-01"}, NO_START))},
    "a page is dated by its latest claim and counts when it was captured": (
        "web_pages", bundled("one"), None,
        [{"available_at": FETCHED, "dated_at": at("2024-02-01T21:45"), "published": at("2024-02-01T21:30"),
          "claim_quote": '"dateModified": "2024-02-01T16:45:00-05:00"', "title": "A release of our own",
          "text": "One\nText of the release."}]),
    "a note of an update in the text delays it": (
        "web_pages", bundled("two"), None,
        [{"published": at("2024-03-04T05:00"), "dated_at": at("2024-03-10T05:00"),
          "claim_method": "note of an update"}]),
    "headers date what the page does not": ("web_pages", bundled("three"), None,
        [{"dated_at": at("2024-01-31T19:42:10")}]),
    "a page that was only seen is public when fetched": (
        "web_pages", bundled("four"), None, [{"available_at": FETCHED, "dated_at": None, "published": None}]),
    "another article's date is not the page's": ("web_pages", bundled("five"), None, None, [UNDATED]),
    "a page from the future": ("web_pages", bundled("six"), None, None, [OLD]),
    **{f"a page older than the web: {spelled}": (
        "web_pages", RELEASE, page(f'{PUBLISHED}<meta name="date" content="{spelled}">'), None, [OLD])
        for spelled in ("1970-01-01T00:00:00Z", "0001-01-01", "Thu, 01 Jan 1970 00:00:00 GMT")},
    "a clock that is wrong": ("web_pages", RELEASE, page("", {"date": "Mon, 03 Mar 2014 15:00:00 GMT"}), None,
        [UNDATED]),
    "a later last-modified outweighs an old publication": (
        "web_pages", RELEASE, page(PUBLISHED, {"last-modified": "Fri, 01 Mar 2024 10:00:00 GMT"}),
        [{"dated_at": at("2024-03-01T10:00")}]),
    **{f"an update that can't be read or quoted: {text}": (
        "web_pages", RELEASE, page(f'{PUBLISHED}<meta property="article:modified_time" content="{text}">'), None,
        [UNDATED])
        for text in ("the other day", "2024&#45;03&#45;09")},
    "a tag in a comment is no claim": ("web_pages", RELEASE, page(f"<!-- {PUBLISHED} -->"), None, [UNDATED]),
    "what is no HTML": ("web_pages", RELEASE, page("", {"content-type": "application/pdf"}), None, [EMPTY]),
    "results count when captured and the undated are gaps": (
        "web_results", SEARCH, None,
        [{"url": "https://www.example.com/results", "available_at": FETCHED, "published_on": date(2024, 2, 1)},
         {"url": "https://www.example.org/guide", "available_at": FETCHED, "published_on": date(2021, 6, 14),
          "updated_on": date(2025, 2, 20)}],
        [("unverifiable", "no publication date"), AGAIN, ("unverifiable", "date is unreadable"), ODD_ITEM]),
    **{f"a result older than the web: {day}": (
        "web_results", SEARCH, {"results": [result(day)]}, [], [("unverifiable", "date is unreadable")])
        for day in ("1970-01-01", "0001-01-01", "1989-12-30")},
    **{f"a list of results: {json.dumps(body)[:30]} {scope.options}": (
        "web_results", scope, body, [{"url": "https://example.com/a"}])
        for body in ([result()], {"results": [[result()]]}, [[result()], []], {"results": [result()]})
        for scope in ((SEARCH, ASK) if isinstance(body, list) else (SEARCH,))},
    "no results": ("web_results", SEARCH, [], [], [EMPTY]),
    "of a chat answer only the results are data": (
        "web_results", ASK, None, [{"url": "https://www.example.com/earned", "operation": "reason"}]),
    "a refused key, although it answers in HTML": (
        "web_results", Scope(queries=("bad key",)), None, [], [("upstream_error", "the key was refused")]),
    **{f"an answer of another shape: {body}": ("web_results", SEARCH, body, [], [UNREADABLE])
       for body in (b'{"answers": []}', b"5", b'{"results": {}}', b'"x"')},
    "prose that is all thought": ("web_syntheses", ASK, PROSE, [], [("no_data", "no prose")]),
    "every article is one row or one gap": (
        "benzinga_news", NEWS, None,
        [{"id": "41000001", "available_at": at("2024-02-01T20:31:02"), "teaser": None, "tags": ["Software & Apps"],
          "title": "Aconby's First Quarter In Three Numbers"},
         {"id": "41000002", "available_at": at("2024-02-12T15:15:30")},
         {"id": "41000003", "ticker": None, "tickers": []},
         {"id": "41000004"}], [CREATED, NO_ITEM]),
    **{f"an article that is none: {change}": ("benzinga_news", NEWS, [item(**change)], [], [gap]) for change, gap in (
        ({"id": None}, NO_ITEM), ({"created": "2024-02-01"}, CREATED),
        ({"created": "Thu, 01 Feb 2024 16:31:02"}, CREATED),
        ({"created": "Thu, 01 Jan 1970 00:00:00 +0000"}, CREATED), ({"created": "0001-01-01T00:00:00Z"}, CREATED),
        ({"updated": "0001-01-01T00:00:00Z"}, UPDATED), ({"updated": "soon"}, UPDATED),
        ({"title": " ", "body": None}, ("no_data", "no text")),
        ({"title": {"en": "x"}}, ("unverifiable", "title is unreadable")),
        ({"stocks": "QACB"}, ("unverifiable", "tickers is unreadable")),
        ({"updated": "Thu, 01 Feb 2035 16:31:02 -0400"}, ("pit_excluded", "not public yet")))},
    "a series that does not exist": (
        "macro_observations", Scope(series=("NONE",)), None, [], [("no_data", "the series does not exist")]),
    "a panel without a stamp is available when fetched": (
        "macro_panels", JANUARY, b"sasdate,RPI\n1/1/2024,1\n", [{"available_at": FETCHED, "value": 1.0}], []),
    "a quote that is not closed swallows no month": (
        "macro_panels", JANUARY, panel('11/1/2023,1,"2', "12/1/2023,3,4", "1/1/2024,5,6"), None, [UNREADABLE]),
    **{f"a panel without months: {spelled}": (
        "macro_panels", JANUARY, panel("Transform:,5,5", *(f'"{month}",1,2' for month in spelled)), None, [UNREADABLE])
        for spelled in (("1/1/59", "2/1/59"), ("soon", "later"), ("13/13/2020",), ("", ""))},
    "a line of a panel without a month": (
        "macro_panels", JANUARY, panel("Transform:,5,5", "1/1/2023,1,2", "Source: our own,1,2", "2/1/2023,1,2"),
        [{}] * 4,
        [("unverifiable", "observation_date is unreadable")]),
    **{f"a panel is not written before its month: {stamp}": (
        "macro_panels", JANUARY, panel("1/1/2023,1,2", headers={"last-modified": stamp}),
        {0: {"available_at": FETCHED}})
        for stamp in ("Thu, 01 Jan 1970 00:00:00 GMT", "Sun, 31 Dec 2023 23:59:59 GMT", "soon")},
}  # fmt: skip
"""Each case, by name: the feed, its scope, the body or a fetch function (None: bundled responses), the rows in order or
by position, and optionally the types and reasons of the gaps."""


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_answer_becomes_the_expected_rows_and_gaps(case):
    name, scope, body, due, *reasons = case
    provider = feed(name).provider
    if body is None:
        body = Played(provider).fetch
    content = body if callable(body) or isinstance(body, bytes) else json.dumps(body).encode()
    fetch = content if callable(content) else lambda ask: captured(provider, ask, content)
    outcomes = happened(feed(name), scope, fetch)
    facts = [row.values | {"available_at": row.available_at} for row in rows(outcomes)]
    if due is not None:
        assert isinstance(due, dict) or len(facts) == len(due), outcomes
        for place, columns in due.items() if isinstance(due, dict) else enumerate(due):
            assert {column: facts[place][column] for column in columns} == columns
    assert reasons in ([], [gaps(outcomes)])
