"""XBRL as the graph stores it: facts, concepts, periods, units, contexts and members, and the edges between them.

Period ends and instants are stored a day late, numbers as display text, and missing attributes as "null". Context ids
follow no rule. `stated_facts` decides which values a filing states.
"""

from dataclasses import dataclass
from datetime import date, timedelta

from sample.companies import LEASES, REGULATED, REVENUE, REVENUES
from sample.schedule import Filing
from sample.shapes import Graph, digits

_DAY = timedelta(days=1)
_SEGMENT_AXIS = "us-gaap:StatementBusinessSegmentsAxis"
_SEGMENT_DOMAIN = "us-gaap:SegmentDomain"

# Qualified name -> (label, balance, type). Concepts that are not listed are text or a company's own concepts.
CONCEPTS: dict[str, tuple[str, str | None, str]] = {
    REVENUE: ("Revenue from Contract with Customer, Excluding Assessed Tax", "credit", "monetaryItemType"),
    REVENUES: ("Revenues", "credit", "monetaryItemType"),
    LEASES: ("Operating Lease, Lease Income", "credit", "monetaryItemType"),
    REGULATED: ("Regulated and Unregulated Operating Revenue", "credit", "monetaryItemType"),
    "us-gaap:CostOfRevenue": ("Cost of Revenue", "debit", "monetaryItemType"),
    "us-gaap:OperatingIncomeLoss": ("Operating Income (Loss)", "credit", "monetaryItemType"),
    "us-gaap:NetIncomeLoss": ("Net Income (Loss) Attributable to Parent", "credit", "monetaryItemType"),
    "us-gaap:EarningsPerShareDiluted": ("Earnings Per Share, Diluted", None, "perShareItemType"),
    "us-gaap:NetCashProvidedByUsedInOperatingActivities": ("Net Cash from Operations", None, "monetaryItemType"),
    "us-gaap:Assets": ("Assets", "debit", "monetaryItemType"),
    "us-gaap:Liabilities": ("Liabilities", "credit", "monetaryItemType"),
    "us-gaap:StockholdersEquity": ("Stockholders' Equity Attributable to Parent", "credit", "monetaryItemType"),
    "us-gaap:CashAndCashEquivalentsAtCarryingValue": ("Cash and Cash Equivalents", "debit", "monetaryItemType"),
    "us-gaap:EffectiveIncomeTaxRateContinuingOperations": ("Effective Income Tax Rate", None, "percentItemType"),
    "dei:EntityCommonStockSharesOutstanding": ("Entity Common Stock, Shares Outstanding", None, "sharesItemType"),
    "dei:EntityRegistrantName": ("Entity Registrant Name", None, "normalizedStringItemType"),
    "dei:DocumentType": ("Document Type", None, "submissionTypeItemType"),
    "us-gaap:RevenueRecognitionPolicyTextBlock": ("Revenue", None, "textBlockItemType"),
}

# Unit name -> (reference in documents, whether it is a ratio of two units, registry status).
UNITS: dict[str, tuple[str, bool, str | None]] = {
    "iso4217:USD": ("usd", False, "REC"),
    "shares": ("shares", False, "REC"),
    "pure": ("number", False, "REC"),
    "iso4217:USDshares": ("usdPerShare", True, None),
}


@dataclass(frozen=True)
class Period:
    """A duration with both days inclusive, an instant (no start), or forever (neither)."""

    start: date | None
    end: date | None

    @property
    def kind(self) -> str:
        """The kind: duration, instant or forever."""
        return "forever" if self.end is None else "duration" if self.start else "instant"

    @property
    def id(self) -> str:
        """The upstream's id, with the end a day late."""
        late = self.end + _DAY if self.end else None
        return {"forever": "forever", "instant": f"instant_{late}"}.get(self.kind, f"duration_{self.start}_{late}")


@dataclass(frozen=True)
class Fact:
    """A fact as stated in a document. Numeric facts have a unit. members: explicit members. typed: axes without one."""

    concept: str
    period: Period
    value: object
    unit: str | None = None
    decimals: str | None = None
    members: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()
    nil: bool = False


def add_units(graph: Graph) -> None:
    """Add the units that all filings share. A unit that the registry does not know has the status "null"."""
    for name, (reference, ratio, status) in UNITS.items():
        simple = None if status is None else not ratio
        graph.merged(
            "Unit", name, unit_reference=reference, name=name, status=status, is_simple_unit=simple, is_divide=ratio
        )


def add_document(graph: Graph, filing: Filing, linked: bool = True) -> str:
    """Add the XBRLNode of a filing and return its id. linked: whether to link it to its report."""
    url = filing.document_url
    graph.merged(
        "XBRLNode",
        url,
        cik=filing.company.cik,
        accessionNo=filing.accession,
        report_id=filing.accession,
        displayLabel=f"XBRL_{filing.accession}",
        primaryDocumentUrl=url,
    )
    if linked:
        graph.edge(("Report", "HAS_XBRL", "XBRLNode"), filing.accession, url)
    return url


def namespace(concept: str, filing: Filing) -> str:
    """Return the yearly namespace of a prefix. A company's own prefix has the period of the filing."""
    prefix, year = concept.split(":", maxsplit=1)[0], filing.accepted.year
    if prefix == "us-gaap":
        return f"http://fasb.org/us-gaap/{year}"
    if prefix == "dei":
        return f"http://xbrl.sec.gov/dei/{year}"
    return f"http://www.{filing.company.ticker.lower()}.example/{filing.period:%Y%m%d}"


def add_fact(
    graph: Graph, filing: Filing, number: int, fact: Fact, without: tuple[str, ...] = (), context_salt: str = ""
) -> str:
    """Add a fact with its edges. without: edge types to leave out. context_salt: another salt makes a second node for
    the same context.

    Return the fact's id: document, concept, context, unit and number in the document.
    """
    url, fact_id = filing.document_url, f"f-{number}"
    context = add_context(graph, filing, fact, context_salt)
    reference = UNITS[fact.unit][0] if fact.unit else ""
    context_id = _context_id(filing, fact)
    node_id = f"{url}_{fact.concept}_{context_id}_{reference}_{fact_id}"
    properties: dict[str, object] = {
        "qname": fact.concept,
        "value": fact.value,
        "decimals": fact.decimals,
        "is_numeric": fact.unit is not None,
        "is_nil": fact.nil,
        "period_ref": fact.period.id,
        "concept_ref": fact.concept,
        **({"unit_ref": reference} if fact.unit else {}),
    }
    graph.merged("Fact", node_id, u_id=node_id, fact_id=fact_id, context_id=context_id, **properties)
    qname, space = fact.concept, namespace(fact.concept, filing)
    concept_label, balance, kind = CONCEPTS.get(qname, (qname.split(":")[1], None, "stringItemType"))
    concept = graph.shared(
        "Concept",
        f"{space}:{qname}",
        qname=qname,
        label=concept_label,
        namespace=space,
        category="Concept",
        type_local=kind,
        balance=balance,
        period_type="instant" if fact.period.kind == "instant" else "duration",
        concept_type=f"xbrli:{kind}",
    )
    links: tuple[tuple[str, str, str], ...] = (
        ("HAS_CONCEPT", "Concept", concept),
        ("HAS_PERIOD", "Period", _add_period(graph, fact.period)),
        *((("HAS_UNIT", "Unit", fact.unit),) if fact.unit else ()),
    )
    for relation, label, target in links:
        if relation not in without:
            graph.edge(("Fact", relation, label), node_id, target, key=node_id)
    graph.edge(("Fact", "REPORTS", "XBRLNode"), node_id, url, report_id=url, company_cik=filing.company.cik)
    if "IN_CONTEXT" not in without:
        graph.edge(("Fact", "IN_CONTEXT", "Context"), node_id, context)
    for member in fact.members if "FACT_MEMBER" not in without else ():
        graph.edge(("Fact", "FACT_MEMBER", "Member"), node_id, add_member(graph, filing, member))
    return node_id


def _context_id(filing: Filing, fact: Fact) -> str:
    return f"c-{digits(3, filing.accession, fact.period.id, *fact.members, *fact.typed)}"


def add_context(graph: Graph, filing: Filing, fact: Fact, salt: str = "") -> str:
    """Add the context of a fact.

    Equal contexts of a company share one node, with the context_id of its last filing. A typed axis adds a dimension
    without a member, so the lists of dimensions and members may differ in length.
    """
    company, members, period = filing.company, fact.members, _add_period(graph, fact.period)
    node_id = digits(19, company.cik, period, *members, *fact.typed, salt)
    explicit = [f"{company.cik}:{namespace(_SEGMENT_AXIS, filing)}:{_SEGMENT_AXIS}"] * len(members)
    if ("Context", node_id) not in graph.node_keys:
        graph.shared(
            "Context",
            node_id,
            u_id=node_id,
            cik=company.bare_cik,
            period_u_id=period,
            member_u_ids=[f"{company.cik}:{namespace(member, filing)}:{member}" for member in members],
            dimension_u_ids=explicit + [f"{company.cik}:{namespace(axis, filing)}:{axis}" for axis in fact.typed],
        )
        graph.edge(("Context", "FOR_COMPANY", "Company"), node_id, company.cik)
        graph.edge(("Context", "HAS_PERIOD", "Period"), node_id, period)
    if node_id in graph.nodes["Context"]:
        graph.nodes["Context"][node_id]["context_id"] = _context_id(filing, fact)
    return node_id


def _add_period(graph: Graph, period: Period) -> str:
    late = period.end + _DAY if period.end else None
    start, end = (period.start, late) if period.kind == "duration" else (late, None)
    return graph.shared("Period", period.id, u_id=period.id, period_type=period.kind, start_date=start, end_date=end)


def add_member(graph: Graph, filing: Filing, member: str) -> str:
    """Add a member below the segment axis and its domain. Their ids contain the CIK without leading zeros."""
    axis, domain, node_id = (
        f"{filing.company.bare_cik}:{namespace(qname, filing)}:{qname}"
        for qname in (_SEGMENT_AXIS, _SEGMENT_DOMAIN, member)
    )
    new_axis, new_member = ("Dimension", axis) not in graph.node_keys, ("Member", node_id) not in graph.node_keys
    if new_axis:
        local = _SEGMENT_AXIS.split(":")[1]
        network = f"{filing.folder}/role/Segments"
        graph.shared(
            "Dimension",
            axis,
            qname=_SEGMENT_AXIS,
            name=local,
            label=local,
            is_explicit=True,
            is_typed=False,
            network_uri=network,
        )
        graph.shared("Domain", domain, qname=_SEGMENT_DOMAIN, label="SegmentDomain", level=0)
        graph.edge(("Dimension", "HAS_DOMAIN", "Domain"), axis, domain)
    if new_member:
        label = member.split(":")[1].removesuffix("Member")
        graph.shared("Member", node_id, qname=member, label=label, level=1, parent_qname=_SEGMENT_DOMAIN)
        graph.edge(("Domain", "HAS_MEMBER", "Member"), domain, node_id)
    return node_id
