"""Oddities of XBRL values and edges: rounding, "null", precision, missing edges, unfinished and empty filings."""

from collections.abc import Iterator
from datetime import date

from sample.calendar import at
from sample.companies import ODD, REVENUES, by_ticker
from sample.expectations import Expectation, Values, absent, gap, row
from sample.filings import add_report, link_filer
from sample.quirks.documents import odd_filing
from sample.schedule import Filing, find
from sample.shapes import Graph
from sample.xbrl import Fact, Period, add_document, add_fact

_COMPANY = by_ticker(ODD)
_END = date(2024, 6, 30)
_QUARTER, _INSTANT = Period(date(2024, 4, 1), _END), Period(None, _END)
_ACCEPTED = "2024-08-20T14:15:00Z"
_USD = "iso4217:USD"

UNFINISHED = odd_filing(302, "10-Q/A", at(date(2024, 8, 21), "10:15:00"), end=_END)


def plant(graph: Graph) -> Iterator[Expectation]:
    """Plant the oddities and yield the expected outcomes."""
    filing = odd_filing(301, "10-Q/A", at(date(2024, 8, 20), "10:15:00"), end=_END)
    add_report(graph, filing, xbrl_status="COMPLETED")
    link_filer(graph, filing)
    add_document(graph, filing)
    yield from _values(graph, filing)
    yield from _precision(graph, filing)
    yield from _missing_edges(graph, filing)
    yield from _unfinished(graph)
    yield from _unattached(graph)
    yield from _natural()
    yield from _own_concepts()


def key(filing: Filing, concept: str) -> Values:
    """Return the columns that find one concept's facts in a filing."""
    return {"accession_no": filing.accession, "concept": concept}


def _values(graph: Graph, filing: Filing) -> Iterator[Expectation]:
    cases: tuple[tuple[int, str, Fact, Values], ...] = (
        (
            2,
            "a ratio is kept to three decimals",
            Fact("us-gaap:DebtInstrumentInterestRate", _INSTANT, 0.0425, "pure", "4"),
            {"value": "0.043", "value_number": 0.043, "unit": "pure"},
        ),
        (
            2,
            "a tiny ratio is kept as -0",
            Fact("us-gaap:IncreaseDecreaseRatio", _INSTANT, -0.0004, "pure", "4"),
            {"value": "-0", "value_number": 0.0},
        ),
        (
            3,
            "'1' is nil, and a nil fact has no value",
            Fact("us-gaap:Goodwill", _INSTANT, None, _USD, nil=True),
            {"is_nil": True, "is_numeric": True, "value": None, "value_number": None, "decimals": None},
        ),
        (
            4,
            "an instant's end is the word null",
            Fact("us-gaap:InventoryNet", _INSTANT, 7_300_000, _USD, "-5"),
            {"period_type": "instant", "period_start": None, "period_end": _END, "balance": None},
        ),
        (
            4,
            "a text fact has no unit and no decimals",
            Fact("us-gaap:LeasesPolicyTextBlock", _QUARTER, "<p>Leases.</p>"),
            {"value": "<p>Leases.</p>", "value_number": None, "unit": None, "decimals": None, "is_numeric": False},
        ),
        (
            4,
            "a period without end has no days",
            Fact("qfh:FoundingPlace", Period(None, None), "Ink Street"),
            {"period_type": "forever", "period_start": None, "period_end": None, "value": "Ink Street"},
        ),
        (
            5,
            "decimals INF stay text",
            Fact("us-gaap:CommonStockParValue", _INSTANT, 0.01, "iso4217:USDshares", "INF"),
            {"decimals": "INF", "value_number": 0.01, "unit": "iso4217:USDshares"},
        ),
        (
            5,
            "negative decimals stay text",
            Fact("us-gaap:OtherAssets", _INSTANT, 41_000_000, _USD, "-6"),
            {"decimals": "-6", "value": "41000000"},
        ),
    )
    for number, (quirk, title, fact, values) in enumerate(cases, start=1):
        node = add_fact(graph, filing, number, fact)
        yield row(quirk, title, "xbrl_facts", key(filing, fact.concept), values, _ACCEPTED, f"neo4j:Fact:{node}")
    bad = add_fact(graph, filing, 20, Fact("us-gaap:DeferredRevenue", _INSTANT, "none to report", _USD, "-5"))
    yield gap(4, "a fact without a number", "xbrl_facts", f"neo4j:Fact:{bad}", "value is not a number", _ACCEPTED)
    blank = Fact("us-gaap:OtherLiabilities", _INSTANT, 5_000_000, _USD, "-6")
    node = add_fact(graph, filing, 21, blank)
    graph.nodes["Fact"][node]["fact_id"] = ""
    yield row(0, "a blank fact id", "xbrl_facts", key(filing, blank.concept), {"fact_id": None}, _ACCEPTED)


def _precision(graph: Graph, filing: Filing) -> Iterator[Expectation]:
    """Plant one fact stated twice in a filing: (concept, the better statement, the worse one)."""
    cases = (
        ("us-gaap:AccountsPayableCurrent", (12_345_000, "-3"), (12_000_000, "-6")),
        ("us-gaap:TreasuryStockShares", (1_234_567, "INF"), (1_235_000, "-3")),
        ("us-gaap:AccruedLiabilitiesCurrent", (3_410_000, "-4"), (3_400_000, "-4")),
    )
    for number, (concept, better, worse) in enumerate(cases):
        loser = add_fact(graph, filing, 30 + 2 * number, Fact(concept, _INSTANT, worse[0], _USD, worse[1]))
        winner = add_fact(graph, filing, 31 + 2 * number, Fact(concept, _INSTANT, better[0], _USD, better[1]))
        yield row(
            41,
            f"decimals {better[1]} win over {worse[1]}: {concept}",
            "xbrl_facts",
            key(filing, concept),
            {"value_number": float(better[0]), "decimals": better[1]},
            _ACCEPTED,
            f"neo4j:Fact:{winner}",
        )
        yield gap(
            41,
            f"the loser is a gap: {concept}",
            "xbrl_facts",
            f"neo4j:Fact:{loser}",
            "less precise duplicate",
            _ACCEPTED,
        )


def _missing_edges(graph: Graph, filing: Filing) -> Iterator[Expectation]:
    for number, (quirk, relation, reason) in enumerate(
        ((36, "IN_CONTEXT", "no context"), (37, "HAS_CONCEPT", "no concept"), (37, "HAS_PERIOD", "no period")), start=40
    ):
        fact = Fact(f"qfh:Without{reason.title().replace(' ', '')}", _INSTANT, 1_000_000, _USD, "-6")
        node = add_fact(graph, filing, number, fact, without=(relation,))
        yield gap(quirk, f"a fact with {reason}", "xbrl_facts", f"neo4j:Fact:{node}", reason, _ACCEPTED)


def _unfinished(graph: Graph) -> Iterator[Expectation]:
    """Plant filings whose XBRL is unfinished, failed or empty."""
    incomplete = "XBRL of the filing is not complete"
    add_report(graph, UNFINISHED, xbrl_status="PROCESSING")
    link_filer(graph, UNFINISHED)
    add_document(graph, UNFINISHED)
    half = add_fact(graph, UNFINISHED, 1, Fact("us-gaap:LandAndBuildings", _INSTANT, 9_000_000, _USD, "-6"))
    yield gap(
        0,
        "a fact of a filing still being read",
        "xbrl_facts",
        f"neo4j:Fact:{half}",
        incomplete,
        "2024-08-21T14:15:00Z",
        no_data=True,
    )
    failed = odd_filing(303, "10-Q/A", at(date(2024, 8, 22), "10:15:00"), end=_END)
    add_report(graph, failed, xbrl_status="FAILED", xbrl_error="the document could not be read")
    link_filer(graph, failed)
    yield gap(
        0,
        "a filing whose XBRL failed",
        "xbrl_facts",
        f"neo4j:Report:{failed.accession}",
        incomplete,
        "2024-08-22T14:15:00Z",
        no_data=True,
    )
    empty = odd_filing(304, "10-Q/A", at(date(2024, 8, 23), "10:15:00"), end=_END)
    add_report(graph, empty, xbrl_status="COMPLETED")
    link_filer(graph, empty)
    add_document(graph, empty)
    yield gap(
        43,
        "completed without a single fact",
        "xbrl_facts",
        f"neo4j:Report:{empty.accession}",
        "filing has no facts",
        "2024-08-23T14:15:00Z",
        no_data=True,
    )


def _unattached(graph: Graph) -> Iterator[Expectation]:
    """Plant facts of a filing that is only referenced, and of a document without a filing."""
    referred = odd_filing(305, "10-Q/A", at(date(2024, 8, 26), "10:15:00"), end=_END)
    add_report(graph, referred, xbrl_status="COMPLETED", cik="")
    link_filer(graph, referred, "REFERENCED_IN")
    add_document(graph, referred)
    nobody = add_fact(graph, referred, 1, Fact("us-gaap:LandAndBuildings", _INSTANT, 9_500_000, _USD, "-6"))
    yield gap(
        34,
        "a fact of a filing without a primary filer",
        "xbrl_facts",
        f"neo4j:Fact:{nobody}",
        "no company",
        "2024-08-26T14:15:00Z",
    )
    lost = odd_filing(306, "10-Q/A", at(date(2024, 8, 27), "10:15:00"), end=_END)
    add_document(graph, lost, linked=False)
    orphan = add_fact(graph, lost, 1, Fact("us-gaap:LandAndBuildings", _INSTANT, 9_700_000, _USD, "-6"))
    yield gap(0, "a fact without a filing", "xbrl_facts", f"neo4j:Fact:{orphan}", "no parent filing", None)


def _natural() -> Iterator[Expectation]:
    filed = find(by_ticker("NVDA"), "10-Q", date(2024, 4, 28))
    total: Values = key(filed, REVENUES) | {"members": "", "period_end": date(2024, 4, 28)}
    yield row(
        1,
        "a value with separators",
        "xbrl_facts",
        total,
        {"value": "26044000000", "value_number": 26_044_000_000.0, "unit": _USD, "balance": "credit"},
        "2024-05-29T20:36:33Z",
    )
    yield row(
        18,
        "a duration ends a day before its stored end, and starts on its stored start",
        "xbrl_facts",
        total,
        {"period_start": date(2024, 1, 29), "period_type": "duration"},
        "2024-05-29T20:36:33Z",
    )
    yield row(
        18,
        "an instant is a day before its stored one",
        "xbrl_facts",
        key(filed, "us-gaap:Assets") | {"period_end": date(2024, 4, 28)},
        {"period_type": "instant"},
        "2024-05-29T20:36:33Z",
    )
    odd_year = find(by_ticker("M"), "10-K", date(2024, 2, 3))
    yield row(
        18,
        "so it is in a year of 53 weeks",
        "xbrl_facts",
        key(odd_year, "us-gaap:NetIncomeLoss") | {"period_start": date(2023, 1, 29)},
        {"period_end": date(2024, 2, 3)},
        "2024-03-25T11:30:00Z",
    )


def _own_concepts() -> Iterator[Expectation]:
    for ticker, concept in (
        ("O", "us-gaap:OperatingLeaseLeaseIncome"),
        ("NEE", "us-gaap:RegulatedAndUnregulatedOperatingRevenue"),
    ):
        form = find(by_ticker(ticker), "10-Q", date(2024, 3, 31))
        yield row(
            44,
            f"revenue of {ticker} has its own concept",
            "xbrl_facts",
            key(form, concept) | {"members": "", "period_end": date(2024, 3, 31)},
            {"ticker": ticker},
            form.accepted_utc,
        )
        yield absent(44, f"{ticker} has no Revenues", "xbrl_facts", {"ticker": ticker, "concept": REVENUES})
