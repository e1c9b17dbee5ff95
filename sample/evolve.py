"""Changes of the source graph between two runs: overwritten texts, dividends with the same id, a late filing.

They are applied over Bolt to a loaded world. For these cases, the outcomes of a second extraction replace the
manifest's.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

from sample.calendar import at
from sample.companies import ODD, by_ticker
from sample.expectations import Expectation, Revision, gap, revised, row
from sample.filings import add_report, link_filer
from sample.fiscal import position_of, quarters
from sample.graph_admin import GraphAdmin
from sample.quirks.dividends import OVERWRITTEN as DIVIDEND
from sample.quirks.documents import REMERGED
from sample.quirks.facts import UNFINISHED
from sample.quirks.stories import EDITED_LATER, OVERWRITTEN
from sample.schedule import Filing, accession
from sample.shapes import Graph, as_json, display


@dataclass(frozen=True)
class Change:
    """New properties of one node, which overwrite the old ones."""

    label: str
    node_id: str
    properties: dict[str, object]


def changes() -> tuple[Change, ...]:
    """Return the nodes that are overwritten."""
    colliding = replace(DIVIDEND, ex=date(2025, 8, 18), amount=0.52)
    return (
        Change(
            "News",
            EDITED_LATER,
            {
                "title": "Quillfeather Opens A Fourth Shop",
                "body": "<p>Another body.</p>",
                "updated": "2025-06-30T18:00:00-04:00",
            },
        ),
        Change("News", OVERWRITTEN, {"tags": as_json(["Shops"]), "url": "https://www.benzinga.com/news/shops"}),
        Change(
            "Report", REMERGED, {"items": as_json(["Item 8.01: Other Events", "Item 9.01: Exhibits"]), "exhibits": "{}"}
        ),
        Change(
            "Dividend",
            DIVIDEND.id,
            {
                "ex_dividend_date": display(colliding.ex),
                "record_date": display(colliding.ex),
                "cash_amount": display(colliding.amount),
            },
        ),
        Change("Company", by_ticker(ODD).cik, {"mkt_cap": display(2_500_000_000)}),
        Change("Report", UNFINISHED.accession, {"xbrl_status": "COMPLETED"}),
    )


def arrivals() -> Graph:
    """Return the nodes that are added: the filing that was lost before."""
    graph = Graph()
    add_report(graph, _late_filing(), xbrl_status="QUEUED")
    link_filer(graph, _late_filing())
    return graph


def _late_filing() -> Filing:
    company = by_ticker("JPM")
    quarter = quarters(company)[position_of(company, date(2024, 6, 30))]
    return Filing(company, "10-Q", at(date(2024, 8, 2), "16:11:44"), quarter, (), (), accession(company, 2024, 900_001))


def evolve(admin: GraphAdmin) -> None:
    """Change a loaded world as between two runs. Repeating it changes nothing."""
    for change in changes():
        statement = f"MATCH (n:{change.label} {{id: $id}}) SET n += $properties"
        admin.write(statement, {"id": change.node_id, "properties": change.properties})
    late = arrivals()
    for label, nodes in late.nodes.items():
        admin.load_nodes(label, "id", nodes.values())
    for (start, relation, end), edges in late.edges.items():
        rows = ({"start": source, "end": target, "properties": facts} for source, target, facts in edges)
        admin.load_edges(relation, (start, "id"), (end, "id"), rows)


def expectations() -> Iterator[Expectation]:
    """Yield the outcomes of a second extraction."""
    yield from _overwritten()
    yield from _arrived()


def _overwritten() -> Iterator[Expectation]:
    yield revised(
        15,
        "an edit that claims an instant before the first run is a revision when observed",
        "news",
        {"id": EDITED_LATER},
        Revision({"title": "Quillfeather Opens A Third Shop"}, "2025-03-10T12:05:00Z"),
        Revision({"title": "Quillfeather Opens A Fourth Shop"}, None),
    )
    yield revised(
        15,
        "an article overwritten without an update is a revision when observed",
        "news",
        {"id": OVERWRITTEN},
        Revision({"tags": []}, "2025-03-10T12:05:00Z"),
        Revision({"tags": ["Shops"], "url": "https://www.benzinga.com/news/shops"}, None),
    )
    yield revised(
        16,
        "a report merged again is a revision when observed",
        "reports",
        {"accession_no": REMERGED},
        Revision({"items": ["Item 8.01: Other Events"]}, "2025-04-01T20:05:10Z"),
        Revision({"items": ["Item 8.01: Other Events", "Item 9.01: Exhibits"]}, None),
    )
    yield revised(
        24,
        "an overwritten dividend is a revision when observed",
        "dividends",
        {"ticker": DIVIDEND.ticker, "declaration_date": DIVIDEND.declared},
        Revision({"cash_amount": 0.31, "ex_dividend_date": date(2025, 5, 19)}, "2025-05-06T04:00:00Z"),
        Revision({"cash_amount": 0.52, "ex_dividend_date": date(2025, 8, 18)}, None),
    )
    yield revised(
        53,
        "a changed snapshot is a revision when observed",
        "companies",
        {"ticker": ODD},
        Revision({"mkt_cap": 2_126_950_000.0}, None),
        Revision({"mkt_cap": 2_500_000_000.0}, None),
    )


def _arrived() -> Iterator[Expectation]:
    """Yield the outcomes of late records: a new filing counts from its acceptance, and facts that were a gap from the
    observation.
    """
    late = _late_filing()
    yield row(
        35,
        "a late filing is dated by its acceptance",
        "reports",
        {"accession_no": late.accession},
        {"ticker": "JPM", "period_of_report": date(2024, 6, 30)},
        "2024-08-02T20:11:44Z",
    )
    yield row(
        0,
        "facts of a filing seen incomplete are dated by the observation",
        "xbrl_facts",
        {"accession_no": UNFINISHED.accession},
        {"concept": "us-gaap:LandAndBuildings"},
        None,
    )
    yield gap(
        35,
        "its facts are not there yet",
        "xbrl_facts",
        f"neo4j:Report:{late.accession}",
        "XBRL of the filing is not complete",
        "2024-08-02T20:11:44Z",
        no_data=True,
    )
