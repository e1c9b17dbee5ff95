"""Oddities in the qualifiers of facts: several or duplicate contexts, members, typed axes, dual filers,
restatements.
"""

from collections.abc import Iterator
from datetime import date

from sample.calendar import at
from sample.companies import ODD, REVENUES, by_ticker
from sample.expectations import Expectation, Revision, Values, gap, revised, row
from sample.filings import add_report, link_filer
from sample.fiscal import NET_INCOME, OPERATING_INCOME, position_of, quarters
from sample.quirks.documents import odd_filing
from sample.quirks.facts import key
from sample.schedule import Filing, accession, find
from sample.shapes import Graph
from sample.xbrl import Fact, Period, add_context, add_document, add_fact

_END = date(2024, 9, 30)
_INSTANT = Period(None, _END)
_USD, _AXIS = "iso4217:USD", "us-gaap:StatementBusinessSegmentsAxis"
_ACCEPTED = "2024-11-20T15:15:00Z"


def plant(graph: Graph) -> Iterator[Expectation]:
    """Plant the oddities and yield the expected outcomes."""
    filing = _document(graph, odd_filing(401, "10-Q/A", at(date(2024, 11, 20), "10:15:00"), end=_END))
    yield from _contexts(graph, filing)
    yield from _axes(graph, filing)
    yield from _dual_filer(graph)
    yield from _restated()
    yield from _many_of_one()


def _document(graph: Graph, filing: Filing) -> Filing:
    add_report(graph, filing, xbrl_status="COMPLETED")
    link_filer(graph, filing)
    add_document(graph, filing)
    return filing


def _contexts(graph: Graph, filing: Filing) -> Iterator[Expectation]:
    """Plant facts with two contexts, and one context stored as two nodes because its id follows no rule."""
    twice = Fact("us-gaap:PropertyPlantAndEquipmentNet", _INSTANT, 61_000_000, _USD, "-6")
    node = add_fact(graph, filing, 1, twice)
    graph.edge(("Fact", "IN_CONTEXT", "Context"), node, add_context(graph, filing, twice, "again"))
    yield row(
        36,
        "a fact with two equal contexts comes out once",
        "xbrl_facts",
        key(filing, twice.concept),
        {"value_number": 61_000_000.0, "member_count": 0},
        _ACCEPTED,
        f"neo4j:Fact:{node}",
    )
    torn = Fact("us-gaap:LongTermDebt", _INSTANT, 17_000_000, _USD, "-6")
    node = add_fact(graph, filing, 2, torn)
    other = Fact(torn.concept, _INSTANT, torn.value, _USD, "-6", members=("qfh:InkMember",))
    graph.edge(("Fact", "IN_CONTEXT", "Context"), node, add_context(graph, filing, other))
    yield gap(36, "contexts with other axes", "xbrl_facts", f"neo4j:Fact:{node}", "contexts disagree", _ACCEPTED)
    later = _document(graph, odd_filing(402, "10-Q/A", at(date(2024, 11, 21), "10:15:00"), end=_END))
    again = Fact("us-gaap:IntangibleAssetsNet", _INSTANT, 8_000_000, _USD, "-6")
    add_fact(graph, filing, 3, again, context_salt="one process")
    add_fact(graph, later, 3, again, context_salt="another process")
    yield revised(
        38,
        "one context under two ids is one key",
        "xbrl_facts",
        {"ticker": ODD, "concept": again.concept, "period_end": _END, "members": ""},
        Revision({"accession_no": filing.accession, "value_number": 8_000_000.0}, _ACCEPTED),
        Revision({"accession_no": later.accession, "value_number": 8_000_000.0}, "2024-11-21T15:15:00Z"),
    )


def _axes(graph: Graph, filing: Filing) -> Iterator[Expectation]:
    """Plant facts with a typed axis, which has no member in the graph, so that they can't be distinguished from each
    other or the total.
    """
    concept = "us-gaap:RevenueRemainingPerformanceObligation"
    typed = ("us-gaap:RevenueRemainingPerformanceObligationExpectedTimingOfSatisfactionStartDateAxis",)
    total = add_fact(graph, filing, 10, Fact(concept, _INSTANT, 500_000_000, _USD, "-6"))
    alone = add_fact(graph, filing, 11, Fact(concept, _INSTANT, 123_456_789, _USD, "INF", typed=typed))
    mixed = Fact(concept, _INSTANT, 77_000_000, _USD, "-6", members=("qfh:InkMember",), typed=typed)
    both = add_fact(graph, filing, 12, mixed)
    yield row(
        40,
        "the total stays the total next to typed facts",
        "xbrl_facts",
        key(filing, concept),
        {"value_number": 500_000_000.0, "members": "", "dimensions": ""},
        _ACCEPTED,
        f"neo4j:Fact:{total}",
    )
    for title, node in (("a typed axis alone", alone), ("a typed axis together with a member", both)):
        yield gap(40, title, "xbrl_facts", f"neo4j:Fact:{node}", "typed dimension without its value", _ACCEPTED)


def _dual_filer(graph: Graph) -> Iterator[Expectation]:
    """Plant facts of American Airlines, which files with a subsidiary: the members have the other CIK, 4515."""
    company = by_ticker("AAL")
    quarter = quarters(company)[position_of(company, _END)]
    joint = Filing(
        company, "10-Q/A", at(date(2024, 11, 22), "10:15:00"), quarter, (), (), accession(company, 2024, 900_001)
    )
    _document(graph, joint)
    fact = Fact("us-gaap:AccountsReceivableNetCurrent", _INSTANT, 2_100_000_000, _USD, "-6", ("aal:LoyaltyMember",))
    node = add_fact(graph, joint, 1, fact, without=("FACT_MEMBER",))
    member = "4515:http://www.aa.example/20240930:aal:LoyaltyMember"
    graph.merged("Member", member, qname="aal:LoyaltyMember", label="Loyalty", level=1)
    graph.edge(("Fact", "FACT_MEMBER", "Member"), node, member)
    yield row(
        39,
        "a member under the other filer's CIK",
        "xbrl_facts",
        key(joint, fact.concept),
        {"members": "aal:LoyaltyMember", "dimensions": _AXIS, "cik": "0000006201"},
        "2024-11-22T15:15:00Z",
        f"neo4j:Fact:{node}",
    )


def _restated() -> Iterator[Expectation]:
    macys, adm = by_ticker("M"), by_ticker("ADM")
    first, second = (find(macys, "10-K", end) for end in (date(2024, 2, 3), date(2025, 2, 1)))
    yield revised(
        42,
        "a later filing's comparative restates a year",
        "xbrl_facts",
        {
            "ticker": "M",
            "concept": NET_INCOME,
            "period_start": date(2023, 1, 29),
            "period_end": date(2024, 2, 3),
            "members": "",
        },
        Revision({"accession_no": first.accession, "value_number": 105_000_000.0}, "2024-03-25T11:30:00Z"),
        Revision({"accession_no": second.accession, "value_number": 45_000_000.0}, "2025-03-21T20:52:40Z"),
    )
    original, amended = (find(adm, form, date(2023, 12, 31)) for form in ("10-K", "10-K/A"))
    yield revised(
        42,
        "a 10-K/A restates a segment",
        "xbrl_facts",
        {
            "ticker": "ADM",
            "concept": OPERATING_INCOME,
            "period_end": date(2023, 12, 31),
            "members": "adm:NutritionMember",
        },
        Revision(
            {"accession_no": original.accession, "value_number": 427_000_000.0, "form_type": "10-K"},
            "2024-03-12T10:31:19Z",
        ),
        Revision(
            {"accession_no": amended.accession, "value_number": 387_000_000.0, "form_type": "10-K/A"},
            "2024-11-18T12:02:19Z",
        ),
    )


def _many_of_one() -> Iterator[Expectation]:
    """Yield outcomes of one concept in one filing: the total, a segment, a year earlier."""
    filed = find(by_ticker("NVDA"), "10-Q", date(2024, 4, 28))
    segment: Values = key(filed, REVENUES) | {"members": "nvda:ComputeMember"}
    yield row(
        42,
        "a segment is distinguished from the total by its member",
        "xbrl_facts",
        segment,
        {"member_count": 1, "dimensions": _AXIS, "value_number": 16_147_000_000.0},
        "2024-05-29T20:36:33Z",
    )
    yield row(
        42,
        "a comparative is a fact of its own period",
        "xbrl_facts",
        key(filed, REVENUES) | {"members": "", "period_end": date(2023, 4, 30)},
        {"value_number": 7_192_000_000.0},
        "2024-05-29T20:36:33Z",
    )
