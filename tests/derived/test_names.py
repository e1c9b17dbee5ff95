"""Company names: no row shows a name before the company had it."""

import json
from datetime import date, datetime, timedelta, timezone

import pytest

from assets.derived import earnings_events, names
from assets.external.sec_edgar.sec_filings import FEED as FILINGS
from assets.external.sec_edgar.universe_events import FEED as UNIVERSE
from assets.feeds.feed import Scope
from assets.feeds.runs import run_feed
from pitlake.clock import NEW_YORK
from pitlake.lake.lake import Lake
from pitlake.questions.tickers import Company, Tickers
from pitlake.session import connect
from resources.http.capture import CaptureStore, Request
from resources.http.client import HttpClient
from resources.http.providers.sec_edgar import PROVIDER
from tests.answers import captured
from tests.derived.conftest import CIK, put_rows, ticker, utc

LATER = utc("2025-06-02T12:00:00+00:00")
RENAMED_AT = date(2021, 10, 28)
BEFORE = utc("2021-06-01T16:00:00-04:00")
COLUMNS = (
    "accessionNumber", "acceptanceDateTime", "form", "filingDate", "reportDate", "items", "act", "fileNumber",
    "filmNumber", "size", "isXBRL", "isInlineXBRL", "primaryDocument", "primaryDocDescription",
)  # fmt: skip


def submissions(name="Later Name, Inc.", tickers=("LATE",), former=(("EARLY NAME INC", "2005-02-17", "2021-10-27"),)):
    days = ["2005-02-17", "2012-05-18", "2021-10-27", "2021-10-29", "2024-02-01"]
    days = [day for day in days if former or day < "2021-10-28"]
    filings = [
        {
            "accessionNumber": f"0000000777-{day[2:4]}-{number:06d}", "acceptanceDateTime": f"{day}T15:00:00.000Z",
            "form": "8-K", "filingDate": day, "reportDate": "", "items": "2.02", "act": "34", "fileNumber": "1-1",
            "filmNumber": "1", "size": 1, "isXBRL": 0, "isInlineXBRL": 0, "primaryDocument": "a.htm",
            "primaryDocDescription": "",
        }
        for number, day in enumerate(days)
    ]  # fmt: skip
    return {
        "cik": CIK, "name": name, "tickers": list(tickers), "exchanges": ["NYSE"] * len(tickers),
        "formerNames": [
            {"name": earlier, "from": f"{since}T05:00:00.000Z", "to": f"{to}T04:00:00.000Z"}
            for earlier, since, to in former
        ],
        "filings": {
            "recent": {column: [filing[column] for filing in reversed(filings)] for column in COLUMNS}, "files": [],
        },
    }  # fmt: skip


def header(number, name, former=(), cik=CIK, accepted="20211029160000"):
    lines = "".join(
        f"\n\tFORMER COMPANY:\t\n\t\tFORMER CONFORMED NAME:\t{earlier}\n\t\tDATE OF NAME CHANGE:\t{since}\n"
        for earlier, since in former
    )
    return (
        f"<SEC-HEADER>{number}.hdr.sgml : 20211029\n<ACCEPTANCE-DATETIME>{accepted}\nACCESSION NUMBER:\t\t{number}\n"
        f"CONFORMED SUBMISSION TYPE:\t8-K\nFILED AS OF DATE:\t\t{accepted[:8]}\n\nFILER:\n\n\tCOMPANY DATA:\t\n"
        f"\t\tCOMPANY CONFORMED NAME:\t\t\t{name}\n\t\tCENTRAL INDEX KEY:\t\t\t{cik}\n{lines}</SEC-HEADER>\n"
    )


def keep(lake, answer, at=LATER, path=f"/submissions/CIK{CIK}.json"):
    body = answer if isinstance(answer, str) else json.dumps(answer)
    host = "www" if path.endswith(".sgml") else ""
    store = CaptureStore.of(lake.location)
    store.put(captured(PROVIDER, Request(path, host=host), body.encode(), fetched_at=at))
    store.flush()


def edgar(lake, answer=None, at=LATER):
    keep(lake, answer or submissions(), at)
    with HttpClient(PROVIDER, CaptureStore.of(lake.location), "replay", until=at) as client:
        run_feed(FILINGS, Scope(ciks=(CIK,), options={"headers": "none"}), client, lake, run_id="edgar", observed_at=at)
    names.derive(lake, run_id="names", observed_at=at)


READ = ("earnings_events", "names", "news", "sec_filings", "universe_events")


def query_as_of(lake, as_of, sql, **params):
    with connect(as_of, lake=lake, datasets=READ) as session:
        return session.sql(sql, params or None).rows()


def called(lake, as_of, kind="company_name", cik=CIK):
    rows = query_as_of(lake, as_of, "SELECT all_names FROM names WHERE cik = $cik AND kind = $kind", cik=cik, kind=kind)
    return rows[0][0] if rows else None


@pytest.mark.parametrize("as_of", ["2006-01-01T00:00:00Z", "2021-06-01T00:00:00Z", "2024-06-01T00:00:00Z"])
def test_no_answer_shows_a_name_that_the_company_did_not_have_yet(lake, as_of):
    edgar(lake)
    with connect(as_of, lake=lake) as session:
        text = repr([session.sql(f"SELECT * EXCLUDE (evidence) FROM {view}").rows() for view in session.datasets])
    assert "0000000777-05-000000" in text
    assert "LATE" not in text
    assert ("Later Name" in text) == (as_of > "2021-10-30")


def test_a_name_begins_when_edgar_states_and_ends_with_the_next_name(lake):
    edgar(lake)
    assert called(lake, "2005-02-17T23:00:00-05:00") is None
    assert called(lake, "2005-02-18T00:00:00-05:00") == ["EARLY NAME INC"]
    assert called(lake, "2021-10-29T23:00:00-04:00") == ["EARLY NAME INC"]
    assert called(lake, "2021-10-30T00:00:00-04:00") == ["Later Name, Inc."]
    assert called(lake, LATER - timedelta(seconds=1), "ticker") is None
    assert called(lake, LATER, "ticker") == ["LATE"]


OF_OTHERS = ("SC 13D", "SC 13G/A", "SCHEDULE 13G", "3", "4/A", "5", "144", "SC TO-T", "25-NSE", "DFAN14A", "EFFECT")
WITHHELD = [
    *((form, 1) for form in ("DRS", "DRS/A", "UPLOAD", "CORRESP", "DRSLTR", *OF_OTHERS)),
    ("8-K", 0),
    ("4/X", 0),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("form", "days_later"), WITHHELD)
def test_a_filing_withheld_or_filed_by_others_does_not_date_a_name(lake, form, days_later):
    """EDGAR published the first filing under either name weeks later, or another filer made it."""
    answer = submissions(former=(("EARLY NAME INC", "2012-05-18", "2021-10-27"),))
    recent = answer["filings"]["recent"]
    for column in COLUMNS:
        recent[column] = [recent[column][-1 - number] for number in (1, 2, 3, 4)][::-1]
    recent["form"] = ["8-K", form, "8-K", form]
    edgar(lake, answer)
    assert recent["filingDate"] == ["2024-02-01", "2021-10-29", "2021-10-27", "2012-05-18"]
    borne = [("2012-05-18", "2021-10-27"), ("2021-10-29", "2024-02-01")]
    for name, days in zip((["EARLY NAME INC"], ["Later Name, Inc."]), borne, strict=True):
        counts = date.fromisoformat(days[days_later]) + timedelta(days=1)
        assert called(lake, f"{counts}T00:00:00-05:00") == name
        assert called(lake, f"{counts - timedelta(days=1)}T23:59:00-04:00") != name


def poll(at, name, former=(), filings=()):
    """Return a response from EDGAR and its time. former: names with first and last days. filings: days and forms."""
    answer = submissions(name, (), former)
    for column in COLUMNS:
        answer["filings"]["recent"][column] = [answer["filings"]["recent"][column][0]] * len(filings)
    days, forms = zip(*filings, strict=True)
    answer["filings"]["recent"] |= {"filingDate": list(days), "form": list(forms)}
    return answer, utc(at)


def derived(lake, *polls):
    reports = []
    for answer, at in polls:
        keep(lake, answer, at)
        reports.append(names.derive(lake, run_id="names", observed_at=at))
    return [(gap, count) for gap, count in reports[-1].gaps.items() if gap[1] == names.UNDATED_NAME.reason]


FILED = [("2015-03-02", "10-K"), ("2024-01-31", "8-K"), ("2024-02-20", "SC 13G/A"), ("2024-02-28", "4")]
SINCE = [("2024-04-01", "8-K"), ("2024-05-10", "10-Q")]


def test_a_poll_that_saw_the_old_name_dates_the_new_name_after_the_poll(lake):
    polls = [
        poll("2024-03-05T15:00:00Z", "Old Inc", filings=[*FILED, ("2024-02-29", "8-K")]),
        poll("2024-06-05T15:00:00Z", "New Inc", [("Old Inc", "2015-03-02", "2024-01-31")], [*FILED, *SINCE]),
    ]
    assert derived(lake, *polls) == []
    for as_of in ("2024-02-25T15:00:00Z", "2024-03-05T15:00:01Z", "2024-04-01T23:59:00-04:00"):
        assert called(lake, as_of) == ["Old Inc"]
    assert called(lake, "2024-04-02T00:00:00-04:00") == ["New Inc"]


FORMER = [("Old Inc", "2015-03-02", "2024-01-31")]
IN_APRIL = [*FILED, ("2024-04-01", "8-K")]
RENAMED = {
    "nothing": ([], "2024-04-01"),
    "a poll that saw the old name": ([("2024-05-05T15:00:00Z", "Old Inc", [], IN_APRIL)], "2024-05-10"),
    "a poll that saw the new one": ([("2024-05-05T15:00:00Z", "New Inc", FORMER, IN_APRIL)], "2024-04-01"),
}


LAST = ("2024-06-05T15:00:00Z", "New Inc", FORMER, [*FILED, *SINCE])


def keep_filings(lake, polled_at, *answers):
    """Capture a response from EDGAR in which each filing has its own accession number and acceptance time."""
    answer, at = poll(polled_at, *answers)
    answer["filings"]["recent"] |= {
        "accessionNumber": [f"0000000777-24-{number:06d}" for number in range(len(answers[-1]))],
        "acceptanceDateTime": [f"{filed}T15:00:00.000Z" for filed, _ in answers[-1]],
    }
    keep(lake, answer, at)


def universe(lake, at):
    with HttpClient(PROVIDER, CaptureStore.of(lake.location), "replay", until=at) as client:
        run_feed(UNIVERSE, Scope(ciks=(CIK,)), client, lake, run_id=f"at-{at:%m%d}", observed_at=at)


@pytest.mark.parametrize("before", RENAMED)
def test_the_universe_and_names_agree_on_a_company_name_at_every_instant(lake, before):
    polls, day = RENAMED[before]
    for polled_at, *answers in [*polls, LAST]:
        keep_filings(lake, polled_at, *answers)
        universe(lake, utc(polled_at))
        names.derive(lake, run_id="names", observed_at=utc(polled_at))
    for as_of in ("2024-02-21T05:00:00Z", f"{day}T12:00:00Z", f"{day}T23:59:59-04:00"):
        assert (universe_name(lake, as_of), called(lake, as_of)) == ("Old Inc", ["Old Inc"])
    after = date.fromisoformat(day) + timedelta(days=1)
    assert (universe_name(lake, f"{after}T00:00:00-04:00"), called(lake, f"{after}T00:00:00-04:00")) == (
        "New Inc", ["New Inc"],
    )  # fmt: skip
    renamed = "SELECT available_at FROM universe_events WHERE event = 'renamed'"
    assert query_as_of(lake, LATER, renamed) == [(utc(f"{after}T00:00:00-04:00"),)]


def test_an_older_poll_found_later_does_not_move_a_published_rename(lake):
    keep_filings(lake, *LAST)
    universe(lake, utc(LAST[0]))
    keep_filings(lake, "2024-05-05T15:00:00Z", "Old Inc", [], IN_APRIL)
    keep_filings(lake, "2024-07-05T15:00:00Z", *LAST[1:])
    universe(lake, utc("2024-07-05T15:00:00Z"))
    renamed = "SELECT available_at FROM universe_events_revisions WHERE event = 'renamed'"
    assert query_as_of(lake, LATER, renamed) == [(utc("2024-04-02T00:00:00-04:00"),)]


def universe_name(lake, as_of):
    with connect(as_of, lake=lake) as session:
        [row] = session.run("universe", ciks=[CIK]).arrow().to_pylist()
    return row["company_name"]


def test_an_older_page_of_submissions_dates_a_name_by_the_filings_in_it(lake):
    answer, at = poll(
        "2025-01-01T00:00:00Z", "Tesla, Inc.", [("TESLA MOTORS INC", "2005-02-17", "2017-01-27")],
        [("2018-02-13", "SC 13G/A"), ("2018-02-22", "8-K")],
    )  # fmt: skip
    file = f"CIK{CIK}-submissions-001.json"
    answer["filings"]["files"] = [{"name": file, "filingFrom": "2005-02-17", "filingTo": "2018-02-11"}]
    page = {"filingDate": ["2018-02-11", "2017-02-01", "2017-01-30"], "form": ["4", "8-K", "SC 13G"]}
    derived(lake, (answer, at))
    assert called(lake, "2018-02-11T12:00:00-05:00") == ["TESLA MOTORS INC"]
    keep(lake, page, at + timedelta(seconds=2), f"/submissions/{file}")
    names.derive(lake, run_id="names", observed_at=at + timedelta(days=1))
    assert called(lake, "2017-02-01T23:59:00-05:00") == ["TESLA MOTORS INC"]
    assert called(lake, "2017-02-02T00:00:00-05:00") == ["Tesla, Inc."]


def test_a_rename_without_a_listed_former_name_counts_from_the_poll_that_saw_it(lake):
    polls = [
        poll("2024-03-05T15:00:00Z", "ZEBRA INC", filings=FILED),
        poll("2024-06-05T15:00:00Z", "Aardvark Inc", filings=[*FILED, *SINCE]),
        poll("2024-07-05T15:00:00Z", "Aardvark Inc", filings=[*FILED, *SINCE]),
    ]
    assert len(derived(lake, *polls[:2])) == 1
    derived(lake, polls[2])
    assert called(lake, "2024-06-05T14:59:59Z") == ["ZEBRA INC"]
    assert called(lake, "2024-06-05T15:00:00Z") == ["Aardvark Inc"]
    assert len(query_as_of(lake, LATER, "FROM names_revisions WHERE kind = 'company_name'")) == 2


def test_an_overlapping_former_name_counts_from_the_first_filing_after_the_older_name(lake):
    former = [("New Pharma, Inc.", "2020-11-06", "2021-01-05"), ("Old Acquisition Corp.", "2019-12-12", "2020-12-22")]
    filed = [
        ("2020-10-08", "8-K"), ("2020-11-06", "UPLOAD"), ("2020-11-10", "10-Q"), ("2020-12-22", "8-K"),
        ("2020-12-23", "8-K"), ("2021-01-05", "8-K"), ("2021-01-11", "8-K"),
    ]  # fmt: skip
    assert len(derived(lake, poll("2025-01-01T00:00:00Z", "Newer Pharma, Inc.", former, filed))) == 1
    assert called(lake, "2020-12-01T16:00:00Z") == ["Old Acquisition Corp."]
    assert called(lake, "2020-12-23T23:59:00-05:00") == ["Old Acquisition Corp."]
    assert called(lake, "2020-12-24T00:00:00-05:00") == ["New Pharma, Inc."]
    assert called(lake, "2021-01-12T00:00:00-05:00") == ["Newer Pharma, Inc."]


def test_a_name_whose_days_lie_within_those_of_another_name_is_a_gap(lake):
    former = [("Within Inc", "2020-02-01", "2020-03-01"), ("Around Inc", "2020-01-01", "2020-06-01")]
    filed = [("2020-01-01", "8-K"), ("2020-02-15", "8-K"), ("2020-07-01", "8-K")]
    assert len(derived(lake, poll("2025-01-01T00:00:00Z", "Newer Inc", former, filed))) == 1
    assert called(lake, "2020-02-20T00:00:00Z") == ["Around Inc"]
    assert called(lake, "2020-07-02T16:00:00Z") == ["Newer Inc"]


@pytest.mark.parametrize(
    ("pages", "since"),
    [
        ([("1996-02-14", "2011-09-11")], "1996-02-14"),
        ([("2013-02-14", "2015-09-11")], "2015-09-11"),
        ([("2013-02-14", "2015-09-11"), ("2005-02-14", "2013-02-13")], "2005-02-14"),
    ],
)
def test_an_older_page_dates_a_name_by_its_first_day_only_before_drafts_existed(pages, since):
    answer = submissions("ONLY NAME INC", former=())
    answer["filings"]["files"] = [{"name": "x", "filingFrom": first, "filingTo": last} for first, last in pages]
    for column in COLUMNS:
        answer["filings"]["recent"][column] = answer["filings"]["recent"][column][:1]
    poll = names.polled(captured(PROVIDER, Request(f"/submissions/CIK{CIK}.json"), json.dumps(answer).encode()))
    statements, _ = names.of_poll(poll, ())
    first_days = [statement["since"] for statement in statements if statement["source"] == "edgar_name"]
    assert first_days == [date.fromisoformat(since)]


@pytest.mark.parametrize(
    ("form", "statements"), [("DRS", 0), ("DRS/A", 0), ("CORRESP", 0), ("SC 13G/A", 0), ("8-K", 2)]
)
def test_the_header_of_a_filing_withheld_or_by_others_states_no_name(form, statements):
    text = header("0000000777-21-000009", "Later Name, Inc.", [("EARLY NAME INC", "20050217")])
    text = text.replace("TYPE:\t8-K", f"TYPE:\t{form}")
    path = "/Archives/edgar/data/777/000000077721000009/0000000777-21-000009.hdr.sgml"
    assert len(names.of_header(captured(PROVIDER, Request(path, host="www"), text.encode()))) == statements


@pytest.mark.parametrize(
    ("filed", "accepted", "counts"),
    [
        ("20211029", "20211029160000", "2021-10-30"),
        ("20211101", "20211029180000", "2021-11-02"),
        (None, "20211029160000", "2021-10-30"),
        (None, "20211029180000", "2021-11-02"),
        (None, "20211224100000", "2021-12-28"),
    ],
)
def test_a_name_from_a_header_counts_from_the_end_of_its_release_day(filed, accepted, counts):
    text = header("0000000777-21-000009", "Later Name, Inc.", accepted=accepted)
    lines = [f"FILED AS OF DATE:\t\t{filed}" if line.startswith("FILED AS") else line for line in text.split("\n")]
    text = "\n".join(line for line in lines if filed or not line.startswith("FILED AS"))
    path = "/Archives/edgar/data/777/000000077721000009/0000000777-21-000009.hdr.sgml"
    [statement] = names.of_header(captured(PROVIDER, Request(path, host="www"), text.encode()))
    assert statement["available_at"].astimezone(NEW_YORK).isoformat()[:16] == f"{counts}T00:00"


def test_a_later_rename_changes_no_earlier_answer(tmp_path):
    before, after = Lake(tmp_path / "before"), Lake(tmp_path / "after")
    edgar(before, submissions("EARLY NAME INC", ("OLD",), ()), at=utc("2021-10-27T20:00:00-04:00"))
    edgar(after, submissions("Later Name, Inc.", ("LATE", "LATE-B")), at=LATER)
    for lake in (before, after):
        earnings_events.derive(lake, run_id="events", observed_at=LATER)
    for view in ("sec_filings", "names", "names_revisions"):
        sql = f"SELECT * EXCLUDE (evidence) FROM {view} ORDER BY ALL"
        assert query_as_of(before, BEFORE, sql) == query_as_of(after, BEFORE, sql)
        assert query_as_of(before, BEFORE, sql)


def test_company_names_come_from_headers_cover_pages_and_the_graph(lake, put):
    number = "0000000777-21-000009"
    keep(
        lake,
        header(number, "Later Name, Inc.", [("EARLY NAME INC", "20050217")]),
        path=f"/Archives/edgar/data/777/{number.replace('-', '')}/{number}.hdr.sgml",
    )
    filed = utc("2019-02-01T16:30:00-05:00")
    fact = {
        "accession_no": "0000000777-19-000001", "form_type": "10-K", "cik": CIK, "period_type": "duration",
        "dimensions": "", "members": "", "member_count": 0, "available_at": filed,
    }  # fmt: skip
    classes = {"dimensions": "us-gaap:StatementClassOfStockAxis", "member_count": 1}
    put(
        "xbrl_facts",
        fact | {"concept": "dei:EntityRegistrantName", "value": "Early Name Inc"},
        fact | classes | {"concept": "dei:TradingSymbol", "value": "old", "members": "a"},
        fact | classes | {"concept": "dei:TradingSymbol", "value": "OLDB", "members": "b"},
        *(
            fact | classes | {"concept": "dei:TradingSymbol", "value": word, "members": f"c{number}"}
            for number, word in enumerate((" ", "-", "N/A", "NA", "none", "Not Applicable", "NULL"))
        ),
    )
    put("companies", {"cik": CIK, "ticker": "GRPH", "name": "Graph Inc", "available_at": utc("2020-01-02T00:00:00Z")})
    names.derive(lake, run_id="names", observed_at=LATER)
    assert called(lake, "2010-01-01T00:00:00Z") == ["EARLY NAME INC"]
    assert called(lake, filed) == ["Early Name Inc"]
    assert called(lake, filed, "ticker") == ["OLD", "OLDB"]
    assert [called(lake, "2020-01-02T00:00:00Z", kind) for kind in ("company_name", "ticker")] == [
        ["Graph Inc"],
        ["GRPH"],
    ]
    assert called(lake, "2021-10-29T23:59:00-04:00") == ["Graph Inc"]
    assert called(lake, "2021-10-30T00:00:00-04:00") == ["Later Name, Inc."]


def test_a_malformed_answer_gives_no_names_and_a_gap(lake):
    for broken in (
        "<html>",
        [],
        {"cik": "x"},
        submissions() | {"formerNames": [{"name": "A"}]},
        submissions() | {"filings": {}},
    ):
        keep(lake, broken, at=LATER - timedelta(days=1))
        report = names.derive(lake, run_id="names", observed_at=LATER)
        assert report.outcome.total.published == 0
        assert ("upstream_error", "the answer is unreadable") in report.gaps


def test_a_later_poll_adds_statements_without_changing_earlier_answers(lake):
    edgar(lake, submissions("EARLY NAME INC", ("OLD",), ()), at=utc("2021-10-27T20:00:00-04:00"))
    sql = "SELECT * FROM names_revisions ORDER BY ALL"
    first = query_as_of(lake, BEFORE, sql)
    edgar(lake)
    assert query_as_of(lake, BEFORE, sql) == first
    assert called(lake, LATER, "ticker") == ["LATE"]


def test_filings_are_found_by_the_current_ticker_and_a_note_states_the_hindsight(lake):
    edgar(lake)
    with connect(BEFORE, lake=lake) as session:
        result = session.run("filings_of_company", ticker="LATE")
        assert len(result) == 2
        assert "LATE" not in repr(result.rows())
        assert result.notes == (f"LATE: ticker by today's list, read as CIK {CIK}, with hindsight",)
        assert len(session.run("names_of_company", ticker="LATE")) == 1
        assert session.run("filings_of_company", ticker="NONE").notes == (
            "NONE: no company is known by it as of 2021-06-01T20:00:00Z",
        )
    with connect(LATER, lake=lake) as session:
        assert session.run("filings_of_company", ticker="LATE").notes == ()


def test_releases_known_only_from_edgar_have_the_ticker_of_their_time(lake, put):
    edgar(lake)
    put("names", ticker(CIK, ["OLD"], utc("2012-05-18T00:00:00Z"), "dei"))
    earnings_events.derive(lake, run_id="events", observed_at=LATER)
    sql = "SELECT event_day, ticker FROM earnings_events ORDER BY event_day"
    tickers_by_year = {day.year: borne for day, borne in query_as_of(lake, LATER, sql)}
    assert (tickers_by_year[2012], tickers_by_year[2024]) == ("OLD", "OLD")


def test_without_names_tickers_are_resolved_by_the_companies_of_the_graph(lake):
    put_rows(lake, "companies", {"cik": CIK, "ticker": "LATE", "name": "Later", "available_at": LATER})
    tickers = Tickers(lake.snapshot())
    assert tickers.resolve("LATE", BEFORE).ciks == (CIK,)
    assert tickers.resolve("LATE", BEFORE).notes == (f"LATE: read as CIK {CIK}, with hindsight",)
    assert tickers.resolve(CIK, BEFORE).ciks == tickers.resolve(CIK, None).ciks == (CIK,)
    assert tickers.resolve("0000000077", BEFORE) == Company("0000000077", ("0000000077",))
    assert tickers.of(CIK, datetime(2020, 1, 1, tzinfo=timezone.utc)) == ("LATE",)


def test_an_answer_lists_the_columns_that_hold_hindsight(lake, put):
    edgar(lake)
    put("news", {"id": "bzNews_1", "ticker": "LATE", "tickers": ["LATE"], "created": BEFORE, "available_at": BEFORE})
    with connect(BEFORE, lake=lake) as session:
        assert session.sql("SELECT count(*) FROM news_revisions").hindsight == {"news": ("ticker", "tickers")}
        articles = {"news": ("ticker", "tickers"), "benzinga_news": ("ticker", "tickers")}
        assert session.run("news_latest", ticker="LATE").hindsight == articles
        bars = dict.fromkeys(("own_bars", "av_daily_bars"), ("ticker", "evidence"))
        assert session.run("entity_latest_price", ticker="LATE").hindsight == {"prices": ("symbol",)} | bars
        assert session.sql("SELECT * FROM sec_filings JOIN names USING (cik)").hindsight == {}
