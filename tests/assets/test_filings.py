"""Filings and their content: the acceptance that dates them, the company they belong to, JSON inside strings."""

from datetime import date, datetime, timezone

import pytest

from assets.extraction import Gap
from assets.graph import all_extractors
from assets.graph._filings import company

ACCEPTED = datetime(2024, 5, 2, 20, 31, 5, tzinfo=timezone.utc)
CONTENT = {
    "report_sections": {"section_name": "RiskFactors", "content": "Text.", "content_length": "73,713"},
    "exhibits": {"exhibit_number": "EX-99.1 CHARTER", "content": "Text."},
    "financial_statements": {"statement_type": "BalanceSheets", "value": '{"b": [1], "a": []}', "period_end": "null"},
    "filing_texts": {"content": "Text."},
}


def filing(**changes):
    return {
        "accession_no": "0000320193-24-000069",
        "form_type": "8-K",
        "report_cik": "320193",
        "created": "2024-05-02T16:31:05-04:00",
        "filers": [["0000320193", "AAPL"]],
        "referenced": [],
    } | changes


def report(**changes):
    described = {
        "period_of_report": "2024-05-02",
        "is_amendment": False,
        "items": '["Item 2.02: Results of Operations"]',
        "entities": '[{"cik": "320193"}]',
        "description": "",
        "market_session": "post_market",
        "link_html": "https://example.org",
        "link_txt": None,
        "primary_document_url": None,
        "exhibits": '{"EX-99.1": "https://example.org/ex"}',
    }
    return filing(**described) | changes


def content(name, **changes):
    return filing(node="n1", **CONTENT[name]) | changes


def test_a_filing_is_available_at_its_acceptance(run):
    row = all_extractors()["reports"].normalise(report(), run)
    assert (row.available_at, row.evidence) == (ACCEPTED, "neo4j:Report:0000320193-24-000069")
    assert (row.values["cik"], row.values["role"]) == ("0000320193", "primary_filer")
    assert row.values["period_of_report"] == date(2024, 5, 2)
    assert row.values["exhibits"] == '{"EX-99.1":"https://example.org/ex"}'


@pytest.mark.parametrize("form", ["CORRESP", "UPLOAD", "drs/a ", "DOSLTR"])
@pytest.mark.parametrize("name", ["reports", *CONTENT])
def test_a_filing_that_is_withheld_at_first_is_a_gap(run, name, form):
    record = report(form_type=form) if name == "reports" else content(name, form_type=form)
    gap = all_extractors()[name].normalise(record, run)
    assert (gap.type, gap.reason) == ("unverifiable", "made public after its acceptance")


@pytest.mark.parametrize("created", [None, "", "2024-05-02T16:31:05", "1970-01-01T00:00:00Z"], ids=repr)
@pytest.mark.parametrize("name", ["reports", *CONTENT])
def test_without_acceptance_there_is_no_row(run, name, created):
    record = report(created=created) if name == "reports" else content(name, created=created)
    gap = all_extractors()[name].normalise(record, run)
    assert (gap.type, gap.reason) == ("unverifiable", "acceptance instant missing or unreadable")


@pytest.mark.parametrize("name", CONTENT)
def test_content_inherits_the_acceptance_of_its_filing(run, name):
    row = all_extractors()[name].normalise(content(name), run)
    assert row.available_at == ACCEPTED
    assert row.values["ticker"] == "AAPL"


@pytest.mark.parametrize("name", CONTENT)
def test_content_without_a_filing_is_an_undated_gap(run, name):
    gap = all_extractors()[name].normalise({"node": "n1"}, run)
    assert (gap.reason, gap.day, gap.available_at) == ("no parent filing", None, None)


def test_separators_curly_quotes_and_free_text_numbers_survive(run):
    extractors = all_extractors()
    section = content("report_sections", section_name="Management’sDiscussion")
    assert extractors["report_sections"].normalise(section, run).values["section_name"] == "Management’sDiscussion"
    assert extractors["report_sections"].normalise(section, run).values["content_length"] == 73713
    exhibit = extractors["exhibits"].normalise(content("exhibits"), run)
    assert exhibit.values["exhibit_number"] == "EX-99.1 CHARTER"


def test_a_statement_keeps_the_order_of_its_lines(run):
    row = all_extractors()["financial_statements"].normalise(content("financial_statements"), run)
    assert (row.values["value"], row.values["period_end"]) == ('{"b":[1],"a":[]}', None)


def test_a_broken_statement_is_a_gap_as_old_as_its_filing(run):
    gap = all_extractors()["financial_statements"].normalise(content("financial_statements", value="{"), run)
    assert isinstance(gap, Gap)
    assert (gap.reason, gap.available_at) == ("value is unreadable", ACCEPTED)


def test_a_filing_that_only_refers_to_a_company_says_so(run):
    referring = report(filers=[], referenced=[["0000320193", "AAPL"], ["0000000100", "AA"]], report_cik="")
    row = all_extractors()["reports"].normalise(referring, run)
    assert (row.values["role"], row.values["cik"], row.values["ticker"]) == ("referenced", "0000000100", "AA")
    assert row.values["tickers"] == ["AA", "AAPL"]


def test_a_filing_of_nobody_keeps_its_own_cik(run):
    row = all_extractors()["reports"].normalise(report(filers=[], report_cik="77"), run)
    assert (row.values["role"], row.values["cik"], row.values["ticker"]) == ("none", "0000000077", None)


def test_of_several_registrants_the_filing_s_own_wins():
    filers = [["0000000001", "A"], ["0000320193", "AAPL"]]
    assert company(filing(filers=filers)) == ("0000320193", "AAPL")
    assert company(filing(filers=filers, report_cik=None)) == ("0000000001", "A")


def test_unlisted_items_are_null_and_listed_ones_are_texts(run):
    extractor = all_extractors()["reports"]
    assert extractor.normalise(report(items=""), run).values["items"] is None
    assert extractor.normalise(report(items="Item 2.02"), run).values["items"] == ["Item 2.02"]
    for damaged in ('["Item 2.02', "not json", "{}"):
        assert extractor.normalise(report(items=damaged), run).reason == "items is unreadable"


@pytest.mark.parametrize("name", ["entities", "exhibits"])
def test_what_does_not_parse_costs_nothing_else_of_the_filing(run, name):
    row = all_extractors()["reports"].normalise(report(**{name: '{"a": '}), run)
    assert row.values[name] == '"{\\"a\\": "'
