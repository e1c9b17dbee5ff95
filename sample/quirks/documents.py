"""Oddities of filings and their content: roles, instants, lost filings, names, parts without a parent."""

from collections.abc import Iterator
from datetime import date, datetime, timezone

from sample.calendar import at
from sample.companies import ODD, by_ticker
from sample.expectations import Expectation, Values, absent, gap, row
from sample.filings import add_exhibit, add_report, add_section, add_statement, add_whole_text, link_filer
from sample.fiscal import Quarter, position_of, quarters
from sample.schedule import Filing, accession, filings, find
from sample.shapes import Graph, as_json

_COMPANY, _NEXTERA = by_ticker(ODD), by_ticker("NEE")
_UNDATED = "acceptance instant missing or unreadable"

REMERGED = accession(_COMPANY, 2025, 900_101)


def plant(graph: Graph) -> Iterator[Expectation]:
    """Plant the oddities and yield the expected outcomes."""
    yield from _instants(graph)
    yield from _roles(graph)
    yield from _only_referred_to(graph)
    yield from _sections(graph)
    yield from _payloads(graph)
    yield from _exhibits(graph)
    yield from _parentless(graph)
    remerged = odd_filing(101, "8-K", at(date(2025, 4, 1), "16:05:10"), ("8.01",))
    add_report(graph, remerged, xbrl_status="SKIPPED")
    link_filer(graph, remerged)


def odd_filing(
    number: int, form: str, accepted: datetime, items: tuple[str, ...] = (), end: date | None = None
) -> Filing:
    """Return a filing of the company that carries the oddities; `end` is the last day of its quarter."""
    quarter: Quarter | None = quarters(_COMPANY)[position_of(_COMPANY, end)] if end else None
    number_text = accession(_COMPANY, accepted.year, 900_000 + number)
    return Filing(_COMPANY, form, accepted, quarter, items, (), number_text)


def _add(graph: Graph, filing: Filing, **overrides: object) -> Filing:
    add_report(graph, filing, **({"xbrl_status": "SKIPPED"} | overrides))
    link_filer(graph, filing)
    return filing


def _instants(graph: Graph) -> Iterator[Expectation]:
    late = find(by_ticker("MSFT"), "10-Q", date(2024, 3, 31))
    yield row(
        12,
        "accepted in the evening, which is the next day in UTC, and released in the morning",
        "reports",
        {"accession_no": late.accession},
        {"form_type": "10-Q", "created": datetime(2024, 4, 26, 0, 41, 3, tzinfo=timezone.utc)},
        "2024-04-26T11:30:00Z",
        f"neo4j:Report:{late.accession}",
    )
    filed = find(by_ticker("NVDA"), "10-Q", date(2024, 4, 28))
    yield row(
        10,
        "ISO with a colon in its offset",
        "reports",
        {"accession_no": filed.accession},
        {"period_of_report": date(2024, 4, 28), "role": "primary_filer", "ticker": "NVDA"},
        "2024-05-29T20:36:33Z",
    )
    edge = odd_filing(1, "8-K", at(date(2024, 4, 1), "16:05:00"), ("8.01",))
    add_report(graph, edge, xbrl_status=None)
    link_filer(graph, edge, created_at="2024-04-02T01:05:00+00:00")
    yield row(
        11,
        "the edge's own UTC stamp plays no part",
        "reports",
        {"accession_no": edge.accession},
        {"items": ["Item 8.01: Other Events"]},
        "2024-04-01T20:05:00Z",
    )
    amended = find(by_ticker("ADM"), "10-K/A", date(2023, 12, 31))
    yield row(
        3,
        "isAmendment is a real boolean",
        "reports",
        {"accession_no": amended.accession},
        {"is_amendment": True, "form_type": "10-K/A"},
        "2024-11-18T12:02:19Z",
    )
    undated = _add(graph, odd_filing(2, "8-K", at(date(2024, 4, 3), "16:05:00"), ("8.01",)), created="")
    part = add_section(graph, undated, "OtherEvents", "Nothing dates this.")
    yield gap(13, "a filing without an acceptance", "reports", f"neo4j:Report:{undated.accession}", _UNDATED, None)
    yield gap(13, "a section of it", "report_sections", f"neo4j:ExtractedSectionContent:{part}", _UNDATED, None)


def _roles(graph: Graph) -> Iterator[Expectation]:
    """Plant filings without a primary filer: one names a subsidiary first, one has no company, and one was lost."""
    subsidiary = [
        {"companyName": "FLORIDA POWER & LIGHT CO (Filer)", "cik": "37634"},
        {"companyName": "NEXTERA ENERGY INC (Filer)", "cik": "753308"},
    ]
    joint = Filing(
        _NEXTERA, "8-K", at(date(2023, 6, 6), "16:31:00"), None, ("8.01",), (), accession(_NEXTERA, 2023, 900_001)
    )
    add_report(graph, joint, cik="", entities=as_json(subsidiary), xbrl_status="REFERENCE_ONLY", periodOfReport=None)
    link_filer(graph, joint, "REFERENCED_IN")
    yield row(
        34,
        "a subsidiary named first, the parent referred to",
        "reports",
        {"accession_no": joint.accession},
        {"role": "referenced", "tickers": ["NEE"], "entities": subsidiary, "period_of_report": None},
        "2023-06-06T20:31:00Z",
    )
    alone = odd_filing(3, "SC TO-I", at(date(2024, 4, 4), "9:05:00"))
    add_report(graph, alone, cik=None, symbols="[]", items=None, xbrl_status=None)
    yield row(
        34,
        "no company is linked at all",
        "reports",
        {"accession_no": alone.accession},
        {"role": "none", "tickers": [], "ticker": None, "items": None},
        "2024-04-04T13:05:00Z",
    )
    yield absent(
        35,
        "a filing that was lost: its absence proves nothing",
        "reports",
        {"ticker": "JPM", "form_type": "10-Q", "period_of_report": date(2024, 6, 30)},
    )


def _only_referred_to(graph: Graph) -> Iterator[Expectation]:
    """Plant a 10-K without a primary filer, of which nothing was parsed except its whole text."""
    yearly = Filing(
        _NEXTERA,
        "10-K",
        at(date(2023, 2, 17), "16:59:00"),
        quarters(_NEXTERA)[position_of(_NEXTERA, date(2022, 12, 31))],
        (),
        (),
        accession(_NEXTERA, 2023, 900_002),
    )
    add_report(graph, yearly, cik=None, xbrl_status="REFERENCE_ONLY", exhibits=None)
    link_filer(graph, yearly, "REFERENCED_IN")
    add_whole_text(graph, yearly, "The whole filing as one text.")
    key: Values = {"accession_no": yearly.accession}
    yield row(
        45,
        "a 10-K that is only referred to",
        "reports",
        key,
        {"role": "referenced", "exhibits": None},
        "2023-02-17T21:59:00Z",
    )
    yield row(
        45,
        "it has its text",
        "filing_texts",
        key,
        {"content": "The whole filing as one text."},
        "2023-02-17T21:59:00Z",
        f"neo4j:FilingTextContent:{yearly.accession}_text",
    )
    yield absent(45, "it has no sections", "report_sections", key)
    yield gap(
        45,
        "it has no facts",
        "xbrl_facts",
        f"neo4j:Report:{yearly.accession}",
        "XBRL of the filing is not complete",
        "2023-02-17T21:59:00Z",
        no_data=True,
    )


def _sections(graph: Graph) -> Iterator[Expectation]:
    yearly = find(by_ticker("AAPL"), "10-K", date(2023, 9, 30))
    curly = "Management\u2019sDiscussionandAnalysisofFinancialConditionandResultsofOperations"
    yield row(
        47,
        "a curly apostrophe in the 10-K's name",
        "report_sections",
        {"accession_no": yearly.accession, "section_name": curly},
        {"form_type": "10-K", "ticker": "AAPL"},
        "2023-11-03T11:30:00Z",
        f"neo4j:ExtractedSectionContent:{yearly.accession}_{curly}",
    )
    quarterly = find(by_ticker("NVDA"), "10-Q", date(2024, 4, 28))
    for name in (
        "ManagementsDiscussionandAnalysisofFinancialConditionandResultsofOperations",
        "QuantitativeandQualitativeDisclosuresAboutMarketRisk",
    ):
        yield row(
            47,
            f"the 10-Q's own spelling: {name[:12]}",
            "report_sections",
            {"accession_no": quarterly.accession, "section_name": name},
            {"form_type": "10-Q"},
            "2024-05-29T20:36:33Z",
        )
    long = _add(graph, odd_filing(4, "8-K", at(date(2024, 4, 5), "16:05:00"), ("8.01",)))
    add_section(graph, long, "OtherEvents", "Words. " * 250)
    yield row(
        1,
        "a length with a separator",
        "report_sections",
        {"accession_no": long.accession},
        {"content_length": 1750, "section_name": "OtherEvents"},
        "2024-04-05T20:05:00Z",
    )


def _payloads(graph: Graph) -> Iterator[Expectation]:
    """Plant valid and invalid JSON in strings."""
    items = find(by_ticker("NVDA"), "8-K", date(2024, 4, 28))
    yield row(
        46,
        "items are a list",
        "reports",
        {"accession_no": items.accession},
        {
            "items": [
                "Item 2.02: Results of Operations and Financial Condition",
                "Item 9.01: Financial Statements and Exhibits",
            ]
        },
        "2024-05-22T20:20:11Z",
    )
    broken = _add(graph, odd_filing(5, "8-K", at(date(2024, 4, 8), "16:05:00"), ("8.01",)), items='["Item 8.01')
    yield row(
        46,
        "items that are not JSON are one plain text",
        "reports",
        {"accession_no": broken.accession},
        {"items": ['["Item 8.01']},
        "2024-04-08T20:05:00Z",
    )
    quarterly = find(by_ticker("NVDA"), "10-Q", date(2024, 4, 28))
    statement = f"{quarterly.accession}_StatementsOfIncome"
    yield row(
        50,
        "a statement's payload is `value`",
        "financial_statements",
        {"accession_no": quarterly.accession, "statement_type": "StatementsOfIncome"},
        {"form_type": "10-Q", "period_end": date(2024, 4, 28)},
        "2024-05-29T20:36:33Z",
        f"neo4j:FinancialStatementContent:{statement}",
    )


def _exhibits(graph: Graph) -> Iterator[Expectation]:
    """Plant exhibit numbers as filers write them, and an exhibit that is listed but missing."""
    free = odd_filing(6, "8-K", at(date(2024, 4, 9), "7:05:00"), ("1.01", "9.01"))
    _add(graph, free, exhibits=as_json({"EX-99": f"{free.folder}/ex99.htm"}))
    for number in ("EX-99.1 CHARTER", "EX-99.-1", "EX-99.01", "EX-10.III", "EX-10.10(M)"):
        node = add_exhibit(graph, free, number, f"The text of {number}.")
        yield row(
            48,
            f"the exhibit number {number}",
            "exhibits",
            {"accession_no": free.accession, "exhibit_number": number},
            {"content": f"The text of {number}."},
            "2024-04-09T11:05:00Z",
            f"neo4j:ExhibitContent:{node}",
        )
    yield absent(
        48,
        "an exhibit that is listed has no text",
        "exhibits",
        {"accession_no": free.accession, "exhibit_number": "EX-99"},
    )
    yield row(
        48,
        "but its address is there",
        "reports",
        {"accession_no": free.accession},
        {"exhibits": {"EX-99": f"{free.folder}/ex99.htm"}},
        "2024-04-09T11:05:00Z",
    )
    release = next(f for f in filings(by_ticker("NVDA")) if f.exhibits and f.quarter)
    yield row(
        50,
        "a content's form is form_type",
        "exhibits",
        {"accession_no": release.accession, "exhibit_number": "EX-99.1"},
        {"form_type": "8-K", "ticker": "NVDA"},
        release.accepted_utc,
    )


def _parentless(graph: Graph) -> Iterator[Expectation]:
    lost = odd_filing(7, "10-Q", at(date(2024, 5, 1), "16:05:00"), end=date(2024, 3, 31))
    nodes = {
        "report_sections": f"ExtractedSectionContent:{add_section(graph, lost, 'RiskFactors', 'None.', False)}",
        "exhibits": f"ExhibitContent:{add_exhibit(graph, lost, 'EX-10.1', 'None.', False)}",
        "financial_statements": f"FinancialStatementContent:{add_statement(graph, lost, 'BalanceSheets', {}, False)}",
        "filing_texts": f"FilingTextContent:{add_whole_text(graph, lost, 'None.', False)}",
    }
    for dataset, node in nodes.items():
        yield gap(0, "content without a filing", dataset, f"neo4j:{node}", "no parent filing", None)
