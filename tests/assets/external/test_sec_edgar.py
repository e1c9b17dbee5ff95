"""EDGAR's feeds on responses in EDGAR's format: the dating of rows, the reasons of gaps, and that no record is lost."""

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date, datetime

import pytest

from assets.edgar import Release
from assets.external.sec_edgar import _headers, _indexes
from assets.external.sec_edgar.sec_facts import FEED as FACTS
from assets.external.sec_edgar.sec_filings import FEED as FILINGS
from assets.external.sec_edgar.sec_filings import PARSERS as FILING_PARSERS
from assets.external.sec_edgar.sec_fulltext_hits import FEED as HITS
from assets.external.sec_edgar.sec_fulltext_hits import PARSERS as HIT_PARSERS
from assets.extraction import Gap
from assets.feeds.feed import Scope
from assets.feeds.runs import collect_unit
from pitlake.errors import BadInput, Unreadable
from resources.http.capture import Request
from resources.http.providers.sec_edgar import PROVIDER, judge
from tests import answers
from tests.answers import FOLDER, Played, at, captured, gaps, rows
from tests.every import every

CIK, EIGHT_K, TEN_K, AMENDED = "0009800021", "0009800021-24-000010", "0009800021-24-000011", "0009800021-24-000021"
COMPANY = Scope(ciks=("9800021",))


@dataclass
class Known:
    """The releases known to a lake."""

    accepted: dict[str, datetime] = field(
        default_factory=lambda: {TEN_K: at("2024-02-23T13:05:41"), AMENDED: at("2024-06-04")}
    )

    def release(self, accession_no, cik, filing_date=None):
        accepted = self.accepted.get(accession_no)
        return accepted and Release(accepted, "filing_date", accepted)

    def __call__(self, ticker, day):
        return None


def happened(feed, scope, played=None, releases=None):
    return answers.happened(feed, scope, (played or Played(PROVIDER)).fetch, releases=releases)


def reasons(outcomes):
    return Counter(gaps(outcomes))


def with_body(file, change):
    """Return a provider of the bundled responses in which the body equal to `file` is changed."""

    class Changed(Played):
        def capture(self, request):
            answer = super().capture(request)
            entry = (FOLDER / "sec_edgar" / file).read_bytes()
            return captured(PROVIDER, request, change(entry)) if answer.body == entry else answer

    return Changed(PROVIDER)


def drop(name):
    def change(body):
        answer = json.loads(body)
        del answer["filings"]["recent"][name]
        return json.dumps(answer).encode()

    return change


def instead(old, new):
    return lambda body: body.replace(old, new)


UNREADABLE, NO_VALUE = ("upstream_error", "the answer is unreadable"), ("unverifiable", "value is unreadable")
NO_ACCEPTANCE = ("unverifiable", "acceptance instant missing or unreadable")
HEDGING, NOBODY = Scope(queries=("hedging",)), Scope(ciks=("1",))
NO_INDEX = Scope(date_from=date(2024, 2, 24), date_to=date(2024, 2, 24))
SUBMISSIONS, FACTS_FILE, HITS_FILE = "submissions_QBG.json", "companyfacts_QBG.json", "search_hits.json"
GAPS = {
    "every page is read and every filing is a row or a gap": (
        FILINGS, COMPANY, None, {NO_ACCEPTANCE: 1}, 10),
    "a day without an index": (FILINGS, NO_INDEX, None, {("no_data", "HTTP 403: there is no such file"): 1}, 1),
    "an unknown registrant": (FILINGS, NOBODY, None, {("no_data", "HTTP 404"): 1}, 1),
    **{f"a changed schema, and no row is guessed: {name}": (
        FILINGS, COMPANY, (SUBMISSIONS, change), {UNREADABLE: 1}, None)
        for name, change in {
            "no acceptances": drop("acceptanceDateTime"), "no items": drop("items"),
            "another accession": instead(b'"accessionNumber"', b'"accession"'),
            "no filings": instead(b'"filings": {', b'"filings": 5, "was": {'),
            "no end": instead(b'"filingTo"', b'"to"'),
            "a page elsewhere": instead(b"-submissions-001", b"-submissions-/../x")}.items()},
    "a retyped field makes its own record a gap": (
        FILINGS, COMPANY, (SUBMISSIONS, instead(b"8123456", b'"8 MB"')),
        {("unverifiable", "size is unreadable"): 1, NO_ACCEPTANCE: 1,
         ("unverifiable", "stated differently on another page"): 1}, 10),
    "a blank field is missing": (
        FILINGS, COMPANY, (SUBMISSIONS, instead(b"8123456", b'""')),
        {NO_ACCEPTANCE: 1, ("unverifiable", "stated differently on another page"): 1}, 10),
    "an infinite count of hits": (HITS, HEDGING, (HITS_FILE, instead(b'"value": 3', b'"value": Infinity')),
        {UNREADABLE: 2}, 2),
    "no hits": (HITS, Scope(queries=("nothing",)), None, {("no_data", "the answer is valid and empty"): 1}, 1),
    "a refused search": (
        HITS, Scope(queries=("wrong",)), None, {("upstream_error", "the search refused the question"): 1}, 1),
    "hits beyond what was fetched": (HITS, HEDGING, (HITS_FILE, instead(b'"value": 3', b'"value": 146')),
        {("upstream_error", "more hits than were fetched"): 1}, None),
    **{f"a fact that is none: {new}": (FACTS, COMPANY, (FACTS_FILE, instead(old, new)), {gap: 1}, None)
       for old, new, gap in (
           (b"10.27", b'"10.27"', NO_VALUE), (b"10.27", b"null", NO_VALUE),
           (b'"2024-02-16"', b'"2024-02-30"', ("unverifiable", "period_end is unreadable")),
           (b'"cik": 9800021', b'"cik": 5', UNREADABLE), (b'"units"', b'"unit"', UNREADABLE))},
}  # fmt: skip
"""Each case, by name: the feed, its scope, a changed response, its gaps, and the number of outcomes (None: any)."""


@pytest.mark.parametrize(("feed", "scope", "change", "due", "count"), GAPS.values(), ids=GAPS)
def test_missing_or_invalid_records_and_answers_are_gaps(feed, scope, change, due, count):
    outcomes = happened(feed, scope, change and with_body(*change), Known())
    assert {gap: reasons(outcomes)[gap] for gap in due} == due
    assert count is None or (len(outcomes), reasons(outcomes)) == (count, due)


def test_a_filing_row_states_its_dating_rule_and_its_raw_acceptance():
    outcomes = happened(FILINGS, replace(COMPANY, options={"headers": "none"}))
    first = {row.values["accession_no"]: row for row in reversed(rows(outcomes))}
    rules = {name: (row.available_at, row.values["acceptance_rule"]) for name, row in first.items()}
    assert rules[EIGHT_K] == (at("2024-02-22T21:15:03"), "two_readings")
    assert rules[AMENDED] == (at("2024-06-04T11:30:00"), "later_reading")
    assert rules["0009800021-24-000013"] == (at("2024-03-06T12:30:00"), "later_reading")
    assert rules[TEN_K] == (at("2024-02-23T13:05:41"), "new_york_clock")
    assert rules["9999999995-24-000451"] == (at("2024-04-09T11:30:00"), "later_reading")
    assert rules["0000912057-02-010203"] == (at("2002-03-13T12:30:00"), "date_only")
    by_clock = {number for number, row in first.items() if row.values["release_rule"] == "form_and_clock"}
    assert by_clock == {AMENDED, "0000912057-02-010203"}
    values = first[EIGHT_K].values
    assert (values["acceptance_raw"], values["items"]) == ("2024-02-22T21:15:03.000Z", ["2.02", "9.01"])
    assert values["accepted_at"] == first[EIGHT_K].available_at


def test_a_fetched_header_dates_a_filing_exactly_and_is_cited():
    scope = replace(COMPANY, date_from=date(2024, 2, 22), date_to=date(2024, 2, 22), options={"headers": "undecided"})
    filings = [row for row in rows(happened(FILINGS, scope)) if row.values["accession_no"] == EIGHT_K]
    assert len(filings) == 2
    for row in filings:
        assert (row.available_at, row.values["acceptance_rule"]) == (at("2024-02-22T21:15:03"), "sgml_header")
        assert "&header=" in row.evidence


@pytest.mark.parametrize(("options", "headers"), [({}, [EIGHT_K, EIGHT_K]), ({"headers": "none"}, [])])
def test_only_headers_of_undecided_earnings_filings_are_fetched_by_default(options, headers):
    played = Played(PROVIDER)
    happened(FILINGS, replace(COMPANY, options=options), played)
    assert [request.path.rpartition("/")[2] for request in played.asked if "hdr" in request.path] == [
        f"{number}.hdr.sgml" for number in headers
    ]


@pytest.mark.parametrize("form", ["CORRESP", "UPLOAD", "DRS", "DRS/A", "DRSLTR/A", "DOS", "dos/a", "DOSLTR"])
def test_forms_that_edgar_withholds_at_first_are_gaps_and_never_rows(form):
    as_form = f'"{form}"'.encode()
    letters = with_body("submissions_QBG.json", lambda body: body.replace(b'"4"', as_form))
    withheld = [gap for gap in happened(FILINGS, COMPANY, letters) if isinstance(gap, Gap)]
    assert [gap.available_at for gap in withheld if gap.reason == "made public after its acceptance"] == [None]
    releases = Known({TEN_K: at("2024-02-23T13:05:41")})
    hits = with_body("search_hits.json", lambda body: body.replace(b'"form": "10-K"', b'"form": ' + as_form))
    assert rows(happened(HITS, Scope(queries=("hedging",)), hits, releases)) == []


def test_pages_that_end_before_the_first_day_are_not_fetched():
    played = Played(PROVIDER)
    happened(FILINGS, replace(COMPANY, date_from=date(2024, 2, 24)), played)
    assert [request.path for request in played.asked] == [f"/submissions/CIK{CIK}.json"]


def test_a_daily_index_finds_registrants_and_a_filing_that_only_it_lists_is_a_gap():
    day = date(2024, 2, 22)
    outcomes = happened(FILINGS, Scope(date_from=day, date_to=day))
    assert {row.values["cik"] for row in rows(outcomes)} == {CIK}
    assert reasons(outcomes)["unverifiable", "acceptance instant missing or unreadable"] == 2


class NoOlderPage(Played):
    def capture(self, request):
        lost = "-submissions-" in request.path
        return captured(PROVIDER, request, b"", status=404) if lost else super().capture(request)


def test_a_missing_registrant_does_not_affect_the_others_of_its_day():
    line = b"8-K         Another One       1           20240222    edgar/data/1/0009800021-24-0000"
    lines = line + b"10.txt\n" + line + b"99.txt\n8-K"
    played = with_body("form.20240222.idx", lambda body: body.replace(b"8-K", lines, 1))
    day = date(2024, 2, 22)
    outcomes = happened(FILINGS, Scope(date_from=day, date_to=day), played)
    assert {row.values["cik"] for row in rows(outcomes)} == {CIK}
    assert reasons(outcomes)["unverifiable", "acceptance instant missing or unreadable"] == 4
    assert ("no_data", "HTTP 404") not in reasons(outcomes)
    early = Scope(date_from=date(2000, 1, 1), date_to=date(2024, 2, 22))
    unit = next(unit for unit in FILINGS.units(early) if unit.name.endswith(str(day)))
    captures, refusal = collect_unit(FILINGS, unit, NoOlderPage(PROVIDER).fetch)
    assert (len(captures), refusal.reason) == (2, "HTTP 404")


@pytest.mark.parametrize(
    "column", ["accessionNumber", "form", "act", "filmNumber", "primaryDocument", "items", "filingDate"]
)
@pytest.mark.parametrize("value", [5, [5], {}, True])
def test_a_column_of_the_wrong_type_makes_every_filing_of_its_page_a_gap(column, value):
    def change(body):
        answer = json.loads(body)
        recent = answer["filings"]["recent"]
        recent[column] = [value for _ in recent[column]]
        return json.dumps(answer).encode()

    outcomes = happened(FILINGS, COMPANY, with_body("submissions_QBG.json", change))
    assert len(outcomes) == 10
    assert [row for row in rows(outcomes) if CIK in row.evidence and "submissions-001" not in row.evidence] == []


@pytest.mark.parametrize(("spelled", "flag"), [(1, True), (0, False), ("", None), (None, None)])
def test_a_filing_says_whether_it_has_xbrl(spelled, flag):
    def change(body):
        answer = json.loads(body)
        recent = answer["filings"]["recent"]
        recent["isXBRL"] = recent["isInlineXBRL"] = [spelled] * len(recent["isXBRL"])
        return json.dumps(answer).encode()

    filings = rows(happened(FILINGS, COMPANY, with_body("submissions_QBG.json", change)))
    values = [row.values for row in filings if CIK in row.evidence and "submissions-001" not in row.evidence]
    assert {(of["is_xbrl"], of["is_inline_xbrl"]) for of in values} == {(flag, flag)}


def test_every_column_that_can_be_unreadable_has_a_gap_reason():
    for feed, parsers in ((FILINGS, FILING_PARSERS), (HITS, HIT_PARSERS)):
        assert {f"{column} is unreadable" for column in parsers} <= set(feed.gap_types)


@pytest.mark.parametrize("scope", [Scope(), Scope(ciks=("x",)), replace(COMPANY, options={"headers": "some"})])
def test_an_invalid_scope_is_refused(scope):
    with pytest.raises(BadInput):
        happened(FILINGS, scope)


def test_facts_are_dated_by_their_filing_and_every_statement_is_a_row():
    outcomes = happened(FACTS, COMPANY, releases=Known())
    assert reasons(outcomes) == {("unverifiable", "acceptance of the filing is unknown"): 1}
    revenues = [
        (row.available_at, row.values["value"]) for row in rows(outcomes) if row.values["concept"] == "us-gaap:Revenues"
    ]
    assert revenues == [(at("2024-02-23T13:05:41"), "2166256000"), (at("2024-06-04"), "2160100000")]
    assert len(outcomes) == 7


def test_fields_that_reveal_later_filings_are_dropped_from_facts():
    text = str([row.values for row in rows(happened(FACTS, COMPANY, releases=Known()))])
    assert "CY2023" not in text
    assert not {"frame", "fy", "fp"} & set(FACTS.dataset.content_columns)


def test_a_single_concept_gives_the_same_rows_as_all_facts():
    of_concept = happened(FACTS, replace(COMPANY, options={"concepts": "us-gaap/Revenues"}), releases=Known())
    every = rows(happened(FACTS, COMPANY, releases=Known()))
    assert [row.values for row in rows(of_concept)] == [
        row.values for row in every if row.values["concept"] == "us-gaap:Revenues"
    ]


def test_two_values_for_one_statement_are_one_row_and_one_gap():
    body = (FOLDER / "sec_edgar/companyfacts_QBG.json").read_bytes()
    answer = json.loads(body)
    values = answer["facts"]["us-gaap"]["Revenues"]["units"]["USD"]
    values.append(values[0] | {"val": 1})
    changed = with_body("companyfacts_QBG.json", lambda _: json.dumps(answer).encode())
    outcomes = happened(FACTS, COMPANY, changed, Known())
    assert reasons(outcomes)["unverifiable", "stated twice by one filing"] == 1
    assert "1" not in {row.values["value"] for row in rows(outcomes)}


def test_a_search_hit_is_dated_only_by_its_filing():
    releases = Known({TEN_K: at("2024-02-23T13:05:41")})
    outcomes = happened(HITS, Scope(queries=("hedging",)), releases=releases)
    [row] = rows(outcomes)
    assert (row.available_at, row.values["accession_no"]) == (releases.accepted[TEN_K], TEN_K)
    assert reasons(outcomes) == {("unverifiable", "acceptance of the filing is unknown"): 2}
    assert "TODAY" not in str(outcomes)


def test_a_fetched_header_turns_a_search_hit_into_a_row():
    class OneHeader(Played):
        def capture(self, request):
            missing = any(request.path.endswith(f"{name}.hdr.sgml") for name in (TEN_K, "0000950170-25-055890"))
            return captured(PROVIDER, request, b"", status=404) if missing else super().capture(request)

    outcomes = happened(HITS, Scope(queries=("hedging",), options={"headers": "all"}), OneHeader(PROVIDER))
    assert [(row.available_at, row.values["document"]) for row in rows(outcomes)] == [
        (at("2024-02-22T21:15:03"), "ex991.htm")
    ]


@pytest.mark.parametrize("broken", [b"<ACCEPTANCE-DATETIME>", b"ACCESSION NUMBER"])
def test_an_invalid_header_leaves_its_filing_dated_without_the_header(broken):
    headers = with_body("header_8k.sgml", lambda body: body.replace(broken, b"X"))
    scope = replace(COMPANY, date_from=date(2024, 2, 22), date_to=date(2024, 2, 22), options={"headers": "undecided"})
    outcomes = happened(FILINGS, scope, headers)
    row = next(row for row in rows(outcomes) if row.values["accession_no"] == EIGHT_K)
    assert (row.available_at, row.values["acceptance_rule"]) == (at("2024-02-22T21:15:03"), "two_readings")
    assert every(reason != "the answer is unreadable" for _, reason in reasons(outcomes))


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (403, b"<html>Undeclared Automated Tool", "retry"),
        (403, b'<?xml version="1.0"?><Error/>', "refused"),
        (429, b"", "retry"),
        (200, b"<!DOCTYPE html>", "retry"),
        (200, b'{"hits": {"hits": []', "retry"),
        (200, b'{"timed_out": true, "hits": {}}', "retry"),
        (200, b"[]", "refused"),
        (200, b'{"hits": {}}', "ok"),
    ],
)
def test_answers_are_judged_by_their_content_as_well_as_their_status(status, body, outcome):
    answer = captured(PROVIDER, Request("/LATEST/search-index", host="search"), body, status=status)
    assert judge(answer).outcome == outcome


INDEXES = {
    "form, ISO": "8-K         A Name   Of Ours     9800021     2024-02-22  edgar/data/9800021/0009800021-24-000010.txt",
    "form, one blank": "8-K         A Name   Of Ours 9800021 20240222 edgar/data/9800021/0009800021-24-000010.txt   ",
    "master": "9800021|A Name   Of Ours|8-K|2024-02-22|edgar/data/9800021/0009800021-24-000010.txt",
}


@pytest.mark.parametrize("line", INDEXES.values(), ids=INDEXES)
def test_an_index_line_is_read_in_every_layout(line):
    (entry,) = _indexes.entries(f"Some header\nForm Type   Company Name\n{'-' * 100}\n{line}\n")
    assert entry[:4] == ("8-K", "A Name   Of Ours", CIK, date(2024, 2, 22))
    assert entry.accession_no == EIGHT_K


@pytest.mark.parametrize("text", ["", "<html>", f"x\n{'-' * 80}\nnot a line of an index"])
def test_an_invalid_index_is_unreadable(text):
    with pytest.raises(Unreadable):
        list(_indexes.entries(text))


def test_an_empty_index_has_no_entries():
    assert list(_indexes.entries(f"Form Type\n{'-' * 141}\n\n")) == []


def test_a_header_is_parsed_and_an_invalid_header_is_unreadable():
    text = (FOLDER / "sec_edgar/header_8k.sgml").read_text()
    header = _headers.parsed(text)
    assert (header.accession_no, header.acceptance, header.ciks) == (EIGHT_K, "20240222161503", (CIK,))
    for broken in ("", text.replace("20240222161503", "soon"), text.replace(EIGHT_K, "x")):
        with pytest.raises(Unreadable):
            _headers.parsed(broken)
