"""The dataset `universe_events`: the events derived from EDGAR's indexes and submissions, and their dates."""

import json
import time
from dataclasses import replace
from datetime import date, timedelta
from functools import partial

import pytest

from assets.external.sec_edgar._removals import is_common_equity, parsed
from assets.external.sec_edgar.universe_events import FEED, event_of
from assets.feeds.feed import Scope
from pitlake.errors import BadInput
from resources.http.providers.sec_edgar import PROVIDER
from tests.answers import Played, at, captured, gaps, happened, rows

SPRING = Scope(date_from=date(2024, 4, 1), date_to=date(2024, 6, 30), options={"index": "quarter"})
COMPANY = Scope(ciks=("9800021",))
WRENFIELD = "0009900701"
RULE = "-" * 141


def index(*lines):
    return f"Description: Daily Index\n\nForm Type   Company Name   CIK   Date Filed   File Name\n{RULE}\n" + "\n".join(
        lines
    )


def line(form, name, cik, day, accession_no):
    return f"{form:<12}{name:<62}{cik:<12}{day:<12}edgar/data/{cik}/{accession_no}.txt"


class Told(Played):
    """A fake EDGAR that serves each text at paths with its suffix. Any other path is missing."""

    def __init__(self, **files):
        super().__init__(PROVIDER)
        self.texts = files

    def capture(self, request):
        body = next((text for end, text in self.texts.items() if request.path.endswith(end)), None)
        if body is None:
            return captured(PROVIDER, request, b"<?xml version='1.0'?><Error/>", status=403)
        return captured(PROVIDER, request, body.encode())


def of_day(*lines):
    day = date(2024, 2, 22)
    return happened(FEED, Scope(date_from=day, date_to=day), Told(**{"form.20240222.idx": index(*lines)}).fetch)


def of_spring(*lines):
    return happened(FEED, SPRING, (Told(**{"QTR2/form.idx": index(*lines)}) if lines else Played(PROVIDER)).fetch)


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


def former(name, start, end):
    return {"name": name, "from": f"{start}T05:00:00.000Z", "to": f"{end}T05:00:00.000Z"}


EXCHANGE_S = "0000876661-24-900001"
EFFECTS = {
    "listed": ("8-A12B", "CERT", "CERTNYS"), "registered": ("8-A12G", "10-12B", "10-12G", "424B4"),
    "offered": ("S-1", "F-1"), "reported": ("10-K", "10-Q", "20-F", "10-K405"),
}  # fmt: skip
ENDS = (("delisted", 10, ("25", "25-NSE")), ("deregistered", 90, ("15-12B", "15-12G", "15F-12B")),
        ("deregistered", 0, ("15-15D", "REVOKED")))  # fmt: skip
FORMS = [(form, event, None) for event, forms in EFFECTS.items() for form in forms]
FORMS += [(form, event, days) for event, days, forms in ENDS for form in forms]
UNDATED, UNREADABLE = ("unverifiable", "no filing under the new name"), ("upstream_error", "the answer is unreadable")
CASES = {
    "the index of a quarter tells of those who are in no list of today": (of_spring, [
        {"cik": WRENFIELD, "event": "deregistered", "form_type": "15-12G", "effective_on": date(2024, 8, 8),
         "available_at": at("2024-05-13T11:30:00")},
        {"cik": WRENFIELD, "accession_no": EXCHANGE_S, "event": "delisted", "told_by": "index", "form_type": "25-NSE",
         "release_rule": "filing_date", "company_name": "Wrenfield Instruments, Inc.", "former_name": None,
         "exchange": "NEW YORK STOCK EXCHANGE LLC", "security_class": "Common Stock, par value $0.01 per share",
         "common_equity": True, "rule_provision": "17 CFR 240.12d2-2(a)(3)", "filing_date": date(2024, 4, 30),
         "effective_on": date(2024, 5, 10), "available_at": at("2024-05-01T11:30:00")}]),
    "a filing of a quarter's first day counts after that day": (
        partial(of_spring, line("15-12G", "A First One", 77, "20240401", "0000000077-24-000001")),
        [{"available_at": at("2024-04-02T11:30:00"), "filing_date": date(2024, 4, 1)}]),
    "an old filing in a new index counts when the index ends": (
        partial(of_day, line("15-12G", "An Old One", 77, "20231201", "0000000077-23-000001")),
        [{"available_at": at("2024-02-23T12:30:00"), "filing_date": date(2023, 12, 1)}]),
    "an old filing in a new index of a quarter": (
        partial(of_spring, line("15-12G", "An Old One", 77, "2023-12-01", "0000000077-23-000001")),
        [{"available_at": at("2024-07-01T11:30:00")}]),
    "a removal without a document has a class unknown and the exchange that filed it": (
        partial(of_day, line("25-NSE", "A Company", 77, "20240222", "0001354457-24-000007")),
        [{"exchange": "The Nasdaq Stock Market LLC", "security_class": None, "common_equity": None,
          "effective_on": date(2024, 3, 3)}]),
    "an exchange that no table knows is named by the index and is no company": (
        partial(of_day, *(line("25-NSE", name, cik, "20240222", "0000555555-24-000001")
                          for name, cik in (("A Company", 77), ("A NEW EXCHANGE LLC", 555555)))),
        [{"cik": "0000000077", "exchange": "A NEW EXCHANGE LLC"}]),
    "a company that files its own form 25 is a company": (
        partial(of_day, line("25", "A Company", 77, "20240222", "0000000077-24-000001")),
        [{"cik": "0000000077", "event": "delisted", "exchange": None}]),
    **{f"form {form}": (
        partial(of_day, line(form, "A Company", 77, "20240222", "0001111111-24-000001")),
        [{"event": event, "effective_on": None if days is None else date(2024, 2, 22) + timedelta(days)}])
        for form, event, days in FORMS},
    "submissions tell the same with the acceptance of the filing": (
        partial(of_company, submissions(["8-A12B", "8-K", "25-NSE"])),
        [{"event": "listed", "told_by": "submissions", "available_at": at("2024-01-15T13:00:00"), "company_name": None},
         {"event": "delisted", "told_by": "submissions", "available_at": at("2024-03-15T12:00:00"),
          "company_name": None}]),
    "a notice of a delisting is an 8-K with item 3.01": (
        partial(of_company, submissions(
            ["8-K", "8-K", "8-K/A", "8-K"], items=["3.01,9.01", "2.02,9.01", "3.01", " 5.02, 3.01"])),
        [{"event": "notified", "filing_date": date(2024, month, 15)} for month in (1, 4)]),
    # The old name may still be in use on its last day. No name changes before the first day of the new name.
    "a new name counts with the first filing after the old one's last day, when `names` has it too": (
        partial(of_company, submissions(
            ["8-K"] * 4, days=["2024-01-15", "2024-01-25", "2024-02-15", "2024-03-15"],
            former=[former("BETA CO", "2024-01-20", "2024-02-15"), former("ALPHA CO", "2001-01-01", "2024-01-10")])),
        [{"event": "renamed", "former_name": "BETA CO", "company_name": "Omega Co", "filing_date": date(2024, 3, 15),
          "available_at": at("2024-03-16T04:00:00")},
         {"event": "renamed", "former_name": "ALPHA CO", "company_name": "BETA CO", "filing_date": date(2024, 1, 25)}]),
    "a name borne until the last filing": (partial(of_company, submissions(
        ["8-K"], former=[former("ALPHA CO", "2001-01-01", "2024-03-15")], days=["2024-03-15"])), None, UNDATED),
    "a name borne within another's days": (partial(of_company, submissions(
        ["8-K"], days=["2024-03-15"],
        former=[former("BETA CO", "2024-01-05", "2024-02-01"), former("ALPHA CO", "2001-01-01", "2024-01-10")])),
        None, UNDATED),
    **{f"former names of another shape cost no filing: {names}": (
        partial(of_company, json.dumps(json.loads(submissions(["8-A12B"])) | {"formerNames": names})),
        [{"event": "listed"}], UNREADABLE, 1)
        for names in ([{"name": "A"}], ["A"], [{"name": "A", "from": None, "to": 5}], {"name": "A"}, 7)},
}  # fmt: skip
"""Each case, by name: the request, the rows in order, one expected gap, and the number of gaps."""


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_answer_becomes_the_expected_events_and_gaps(case):
    asked, due, *gap = case
    outcomes = asked()
    facts = [row.values | {"available_at": row.available_at} for row in rows(outcomes)]
    if due is not None:
        assert len(facts) == len(due), outcomes
        for fact, columns in zip(facts, due, strict=True):
            assert {column: fact[column] for column in columns} == columns
    if gap:
        assert gap[0] in gaps(outcomes)
        assert gap[1:] in ([], [len(gaps(outcomes))])


def test_a_removal_row_has_exactly_the_expected_columns():
    assert set(rows(of_spring())[0].values) == set(next(iter(CASES.values()))[1][1]) - {"available_at"}


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


def test_a_header_beside_the_submissions_costs_no_change_of_name():
    renamed = submissions(["8-K", "25-NSE"], former=[former("ALPHA CO", "2001-01-01", "2024-01-10")])
    source = Told(**{"CIK0000000077.json": renamed, ".hdr.sgml": "ACCESSION NUMBER:\t0000000077-24-000001\n"})
    outcomes = happened(FEED, Scope(ciks=("77",), options={"headers": "all"}), source.fetch)
    assert sorted(row.values["event"] for row in rows(outcomes)) == ["delisted", "renamed"]
    assert gaps(outcomes) == []


@pytest.mark.parametrize(
    "form", ["8-K", "15-12B/A", "25-NSE/A", "CERTNYS/A", "253G2", "424B2", "424B5", "10-Q/A", "D", None]
)
def test_other_forms_and_amendments_are_no_events(form):
    assert event_of(form) is None


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
def test_common_equity_is_recognised_from_the_description_of_a_security_class(words, expected):
    assert is_common_equity(words) is expected


def test_a_field_stated_twice_in_a_document_is_ignored():
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
def test_an_incomplete_scope_or_an_unknown_index_is_refused(scope):
    with pytest.raises(BadInput):
        FEED.units(scope)


def test_a_span_of_days_requests_each_quarter_once():
    long = replace(SPRING, date_from=date(2023, 12, 31), date_to=date(2024, 7, 1))
    assert [unit.scope.date_from for unit in FEED.units(long)] == [
        date(2023, 10, 1), date(2024, 1, 1), date(2024, 4, 1), date(2024, 7, 1),
    ]  # fmt: skip
