"""Dataset `universe_events` from EDGAR's indexes and submissions: the events of an entry, and their dates."""

import json
import time
from dataclasses import replace
from datetime import date, datetime, timezone

import pytest

from assets.external.sec_edgar._removals import is_common_equity, parsed
from assets.external.sec_edgar.universe_events import FEED, event_of
from assets.feeds.feed import Scope
from pitlake.errors import BadInput
from resources.http.providers.sec_edgar import PROVIDER
from tests.answers import Played, captured, gaps, happened, rows

SPRING = Scope(date_from=date(2024, 4, 1), date_to=date(2024, 6, 30), options={"index": "quarter"})
COMPANY = Scope(ciks=("9800021",))
WRENFIELD = "0009900701"
RULE = "-" * 141


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


def index(*lines):
    return f"Description: Daily Index\n\nForm Type   Company Name   CIK   Date Filed   File Name\n{RULE}\n" + "\n".join(
        lines
    )


def line(form, name, cik, day, accession_no):
    return f"{form:<12}{name:<62}{cik:<12}{day:<12}edgar/data/{cik}/{accession_no}.txt"


class Told(Played):
    """EDGAR with a test's answers: a text by the end of a path. Any other path is missing."""

    def __init__(self, **files):
        super().__init__(PROVIDER)
        self.texts = files

    def capture(self, request):
        body = next((text for end, text in self.texts.items() if request.path.endswith(end)), None)
        if body is None:
            return captured(PROVIDER, request, b"<?xml version='1.0'?><Error/>", status=403)
        return captured(PROVIDER, request, body.encode())


def of_day(day, *lines, **files):
    fetch = Told(**{f"form.{day.replace('-', '')}.idx": index(*lines)}, **files).fetch
    day = date.fromisoformat(day)
    return happened(FEED, Scope(date_from=day, date_to=day, options=files.pop("options", {})), fetch)


def test_the_index_of_a_quarter_tells_of_those_who_are_in_no_list_of_today():
    events = rows(happened(FEED, SPRING, Played(PROVIDER).fetch))
    assert {(row.values["cik"], row.values["event"], row.values["form_type"]) for row in events} == {
        (WRENFIELD, "delisted", "25-NSE"),
        (WRENFIELD, "deregistered", "15-12G"),
    }


def test_a_removal_is_the_company_s_and_names_the_exchange_the_class_and_the_rule():
    events = rows(happened(FEED, SPRING, Played(PROVIDER).fetch))
    [row] = [event for event in events if event.values["event"] == "delisted"]
    assert row.values == {
        "cik": WRENFIELD,
        "accession_no": "0000876661-24-900001",
        "event": "delisted",
        "told_by": "index",
        "form_type": "25-NSE",
        "release_rule": "filing_date",
        "company_name": "Wrenfield Instruments, Inc.",
        "former_name": None,
        "exchange": "NEW YORK STOCK EXCHANGE LLC",
        "security_class": "Common Stock, par value $0.01 per share",
        "common_equity": True,
        "rule_provision": "17 CFR 240.12d2-2(a)(3)",
        "filing_date": date(2024, 4, 30),
        "effective_on": date(2024, 5, 10),
    }


def test_what_an_index_lists_counts_from_the_morning_after_its_filing_date_and_never_when_it_takes_effect():
    events = {row.values["event"]: row for row in rows(happened(FEED, SPRING, Played(PROVIDER).fetch))}
    assert events["delisted"].available_at == at("2024-05-01T11:30:00")
    assert events["deregistered"].available_at == at("2024-05-13T11:30:00")
    assert events["deregistered"].values["effective_on"] == date(2024, 8, 8)


def test_an_old_filing_in_a_new_index_counts_when_the_index_ends():
    old = line("15-12G", "An Old One", 77, "20231201", "0000000077-23-000001")
    [row] = rows(of_day("2024-02-22", old))
    assert (row.available_at, row.values["filing_date"]) == (at("2024-02-23T12:30:00"), date(2023, 12, 1))
    quarterly = Told(**{"QTR2/form.idx": index(old.replace("20231201", "2023-12-01"))}).fetch
    [row] = rows(happened(FEED, SPRING, quarterly))
    assert row.available_at == at("2024-07-01T11:30:00")


def test_a_header_dates_a_filing_exactly():
    removal = line("25-NSE", "A Company", 77, "20240222", "0000876661-24-000007")
    header = (
        "<ACCEPTANCE-DATETIME>20240222120000\nACCESSION NUMBER:\t0000876661-24-000007\nFILED AS OF DATE:\t20240222\n"
    )
    files = {"form.20240222.idx": index(removal), "0000876661-24-000007.hdr.sgml": header}
    day = date(2024, 2, 22)
    [plain] = rows(happened(FEED, Scope(date_from=day, date_to=day), Told(**files).fetch))
    [exact] = rows(happened(FEED, Scope(date_from=day, date_to=day, options={"headers": "all"}), Told(**files).fetch))
    assert (plain.available_at, exact.available_at) == (at("2024-02-23T12:30:00"), at("2024-02-22T17:00:00"))
    assert "&header=" in exact.evidence
    assert plain.values == exact.values


def test_a_removal_without_a_document_has_a_class_unknown_and_the_exchange_that_filed_it():
    removal = line("25-NSE", "A Company", 77, "20240222", "0001354457-24-000007")
    [row] = rows(of_day("2024-02-22", removal))
    values = {name: row.values[name] for name in ("exchange", "security_class", "common_equity", "effective_on")}
    assert values == {
        "exchange": "The Nasdaq Stock Market LLC",
        "security_class": None,
        "common_equity": None,
        "effective_on": date(2024, 3, 3),
    }


def test_an_exchange_that_no_table_knows_is_named_by_the_index_and_is_no_company():
    both = [
        line("25-NSE", name, cik, "20240222", "0000555555-24-000001")
        for name, cik in (("A Company", 77), ("A NEW EXCHANGE LLC", 555555))
    ]
    [row] = rows(of_day("2024-02-22", *both))
    assert (row.values["cik"], row.values["exchange"]) == ("0000000077", "A NEW EXCHANGE LLC")


def test_a_company_that_files_its_own_form_25_is_a_company():
    [row] = rows(of_day("2024-02-22", line("25", "A Company", 77, "20240222", "0000000077-24-000001")))
    assert (row.values["cik"], row.values["event"], row.values["exchange"]) == ("0000000077", "delisted", None)


@pytest.mark.parametrize(
    ("form", "event", "days"),
    [
        ("8-A12B", "listed", None), ("CERT", "listed", None), ("CERTNYS", "listed", None),
        ("8-A12G", "registered", None), ("10-12B", "registered", None), ("10-12G", "registered", None),
        ("424B4", "registered", None), ("S-1", "offered", None), ("F-1", "offered", None),
        ("10-K", "reported", None), ("10-Q", "reported", None), ("20-F", "reported", None),
        ("10-K405", "reported", None),
        ("25", "delisted", 10), ("25-NSE", "delisted", 10),
        ("15-12B", "deregistered", 90), ("15-12G", "deregistered", 90), ("15-15D", "deregistered", 0),
        ("15F-12B", "deregistered", 90), ("REVOKED", "deregistered", 0),
    ],
)  # fmt: skip
def test_each_form_has_its_event_and_its_day_of_effect(form, event, days):
    [row] = rows(of_day("2024-02-22", line(form, "A Company", 77, "20240222", "0001111111-24-000001")))
    effect = row.values["effective_on"]
    assert (row.values["event"], effect and (effect - date(2024, 2, 22)).days) == (event, days)


@pytest.mark.parametrize(
    "form", ["8-K", "15-12B/A", "25-NSE/A", "CERTNYS/A", "253G2", "424B2", "424B5", "10-Q/A", "D", None]
)
def test_other_forms_and_amendments_do_nothing(form):
    assert event_of(form) is None


def submissions(forms, name="Omega Co", former=(), days=None, items=None):
    count = len(forms)
    days = days or [f"2024-0{number + 1}-15" for number in range(count)]
    columns = {
        "accessionNumber": [f"0000000077-24-{number:06d}" for number in range(count)],
        "filingDate": days,
        "acceptanceDateTime": [f"{day}T08:00:00.000Z" for day in days],
        "form": list(forms),
    }
    rest = ("reportDate", "items", "act", "fileNumber", "filmNumber", "size", "isXBRL", "isInlineXBRL",
            "primaryDocument", "primaryDocDescription")  # fmt: skip
    recent = columns | {name: [""] * count for name in rest} | ({"items": items} if items else {})
    answer = {"cik": 77, "name": name, "tickers": [], "filings": {"recent": recent, "files": []}}
    return json.dumps(answer | ({"formerNames": list(former)} if former is not None else {}))


def of_company(body):
    return happened(FEED, Scope(ciks=("77",)), Told(**{"CIK0000000077.json": body}).fetch)


def test_submissions_tell_the_same_with_the_acceptance_of_the_filing():
    events = rows(of_company(submissions(["8-A12B", "8-K", "25-NSE"])))
    assert [(row.values["event"], row.values["told_by"], row.available_at) for row in events] == [
        ("listed", "submissions", at("2024-01-15T13:00:00")),
        ("delisted", "submissions", at("2024-03-15T12:00:00")),
    ]
    assert [row.values["company_name"] for row in events] == [None, None]


def test_a_notice_of_a_delisting_is_an_8_k_with_item_3_01():
    body = submissions(["8-K", "8-K", "8-K/A", "8-K"], items=["3.01,9.01", "2.02,9.01", "3.01", " 5.02, 3.01"])
    events = rows(of_company(body))
    assert [(row.values["event"], row.values["filing_date"].month) for row in events] == [
        ("notified", 1),
        ("notified", 4),
    ]


def former(name, start, end):
    return {"name": name, "from": f"{start}T05:00:00.000Z", "to": f"{end}T05:00:00.000Z"}


def test_a_new_name_counts_with_the_first_filing_after_the_old_one_s_last_day():
    names = [former("BETA CO", "2024-01-20", "2024-02-15"), former("ALPHA CO", "2001-01-01", "2024-01-10")]
    events = rows(of_company(submissions(["8-K"] * 4, former=names, days=[
        "2024-01-15", "2024-01-25", "2024-02-15", "2024-03-15",
    ])))  # fmt: skip
    changes = [(row.values["former_name"], row.values["company_name"], row.values["filing_date"]) for row in events]
    assert changes == [
        ("BETA CO", "Omega Co", date(2024, 3, 15)),  # on the last day itself the old one may still be borne
        ("ALPHA CO", "BETA CO", date(2024, 1, 25)),  # not before the new one's first day
    ]
    assert [row.values["event"] for row in events] == ["renamed", "renamed"]
    assert events[0].available_at == at("2024-03-16T04:00:00")  # when `names` has it too


@pytest.mark.parametrize(
    ("names", "days"),
    [
        ([former("ALPHA CO", "2001-01-01", "2024-03-15")], ["2024-03-15"]),
        (
            [former("BETA CO", "2024-01-05", "2024-02-01"), former("ALPHA CO", "2001-01-01", "2024-01-10")],
            ["2024-03-15"],
        ),
    ],
)
def test_a_name_that_nothing_dates_is_a_gap(names, days):
    assert ("unverifiable", "no filing under the new name") in gaps(
        of_company(submissions(["8-K"], former=names, days=days))
    )


@pytest.mark.parametrize("names", [[{"name": "A"}], ["A"], [{"name": "A", "from": None, "to": 5}], {"name": "A"}, 7])
def test_former_names_of_another_shape_are_one_gap_and_cost_no_filing(names):
    body = json.loads(submissions(["8-A12B"])) | {"formerNames": names}
    outcomes = of_company(json.dumps(body))
    assert [row.values["event"] for row in rows(outcomes)] == ["listed"]
    assert gaps(outcomes) == [("upstream_error", "the answer is unreadable")]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Common Stock", True),
        ("Class A Ordinary Shares, par value $0.0001", True),
        ("Common Stock; Warrants; Units", True),
        ("Common Stock (and associated preferred stock purchase rights)", True),
        ("American Depositary Shares, each representing two Ordinary Shares", True),
        ("Common Units representing limited partner interests", True),
        ("0.875% Notes due 2025", False),
        ("Warrants, each whole warrant exercisable for one share of Class A common stock", False),
        ("Units, each consisting of one share of Class A common stock and one warrant", False),
        ("Rights to receive one share of Common Stock", False),
        ("Common Stock Purchase Rights", False),
        ("6.25% Mandatory Convertible Preferred Stock", False),
        ("Depositary Shares, each representing 1/1000th of a share of Preferred Stock", False),
        ("Global Depositary Shares", None),
        ("Depositary Shares representing Common Stock", None),
        ("A Fund of Ours", None),
        (None, None),
    ],
)
def test_words_for_a_class_name_common_equity_or_a_claim_to_it(words, expected):
    assert is_common_equity(words) is expected


def test_a_document_that_says_a_thing_twice_says_nothing_of_it():
    twice = "<descriptionClassSecurity>A</descriptionClassSecurity>" * 2
    assert parsed(f"<exchange><entityName>X &amp; Y</entityName></exchange>{twice}") == ("X & Y", None, None)


@pytest.mark.parametrize("pump", ["<exchange>", "<exchange><entityName>", "<ruleProvision></exchange>", "<"])
def test_a_document_of_a_million_characters_is_read_in_a_second(pump):
    before = time.thread_time()
    assert parsed(pump * (1_000_000 // len(pump))) == (None, None, None)
    assert time.thread_time() - before < 1


@pytest.mark.parametrize(
    "scope", [Scope(), Scope(date_from=date(2024, 1, 1)), replace(SPRING, options={"index": "year"})]
)
def test_a_scope_that_names_nothing_or_another_index_is_refused(scope):
    with pytest.raises(BadInput):
        FEED.units(scope)


def test_a_span_of_days_asks_for_each_quarter_once():
    long = replace(SPRING, date_from=date(2023, 12, 31), date_to=date(2024, 7, 1))
    assert [unit.scope.date_from for unit in FEED.units(long)] == [
        date(2023, 10, 1), date(2024, 1, 1), date(2024, 4, 1), date(2024, 7, 1),
    ]  # fmt: skip
