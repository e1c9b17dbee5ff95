"""The facts of a 10-K or 10-Q: its period, the previous year, segments, and restatements by an amendment. Comparatives
repeat earlier periods, for which some later filings state other values (see `fiscal.STATED`). `xbrl` stores the
facts.
"""

from collections.abc import Iterator

from sample.companies import Company
from sample.fiscal import NET_INCOME, OPERATING_INCOME, Figures, figures, position_of, quarters, stated_value
from sample.schedule import Filing
from sample.shapes import Graph, rng
from sample.texts import prose
from sample.xbrl import Fact, Period, add_document, add_fact

EPS = "us-gaap:EarningsPerShareDiluted"
CASH_FLOW = "us-gaap:NetCashProvidedByUsedInOperatingActivities"
TAX_RATE = "us-gaap:EffectiveIncomeTaxRateContinuingOperations"
_DRAWN = frozenset({"QBRY", "QAVN", "QADL"})


def add_facts(graph: Graph, filing: Filing) -> None:
    """Add the filing's XBRL document with all its facts, and the statement networks for a few companies."""
    add_document(graph, filing)
    ids = [add_fact(graph, filing, number, fact) for number, fact in enumerate(facts(filing), start=1)]
    if filing.company.ticker in _DRAWN and filing.form == "10-K":
        _add_networks(graph, filing, ids)


def facts(filing: Filing) -> Iterator[Fact]:
    """Yield the facts in document order: cover page, income, segments, cash flow, balance sheet, policy text."""
    company, here = filing.company, position_of(filing.company, filing.period)
    quarter = quarters(company)[here]
    period = Period(quarter.year_start, quarter.end)
    yield Fact("dei:DocumentType", period, filing.form)
    yield Fact("dei:EntityRegistrantName", period, company.name)
    shares = figures(company, here).shares
    yield Fact("dei:EntityCommonStockSharesOutstanding", Period(None, filing.accepted.date()), shares, "shares", "-3")
    for years_back in (0, 1):
        period, parts = _span(filing, here - 4 * years_back)
        for concept, value in (
            (company.revenue_concept, sum(part.revenue for part in parts)),
            ("us-gaap:CostOfRevenue", sum(part.cost for part in parts)),
            (OPERATING_INCOME, sum(part.operating_income for part in parts)),
            (NET_INCOME, sum(part.net_income for part in parts)),
        ):
            yield Fact(concept, period, _stated_amount(filing, concept, period, "", value), "iso4217:USD", "-6")
        yield Fact(EPS, period, round(sum(part.eps for part in parts), 2), "iso4217:USDshares", "2")
    period, parts = _span(filing, here)
    first = 0.62
    for segment, share in zip(company.segments, (first, 1 - first), strict=True):
        member = f"{company.ticker.lower()}:{segment}"
        for concept, total in (
            (company.revenue_concept, sum(part.revenue for part in parts)),
            (OPERATING_INCOME, sum(part.operating_income for part in parts)),
        ):
            value = int(total * share / 1_000_000) * 1_000_000
            value = _stated_amount(filing, concept, period, member, value)
            yield Fact(concept, period, value, "iso4217:USD", "-6", members=(member,))
    for last in (here, here - 4):
        quarter = quarters(company)[last]
        so_far = range(last - quarter.number + 1, last + 1)
        period = Period(quarter.year_start, quarter.end)
        yield Fact(CASH_FLOW, period, sum(figures(company, n).cash_flow for n in so_far), "iso4217:USD", "-6")
    yield from _balance(company, here)
    yield from _balance(company, here - quarters(company)[here].number)
    random = rng("policy", filing.accession)
    this = quarters(company)[here]
    period = Period(this.year_start, this.end)
    yield Fact(TAX_RATE, period, round(random.uniform(0.11, 0.25), 4), "pure", "3")
    yield Fact("us-gaap:RevenueRecognitionPolicyTextBlock", period, f"<div><p>{prose(random, 4)}</p></div>")


def _span(filing: Filing, position: int) -> tuple[Period, list[Figures]]:
    """Return the period of an income statement: the year in a 10-K, the quarter in a 10-Q."""
    quarter = quarters(filing.company)[position]
    if filing.form.startswith("10-Q"):
        return Period(quarter.start, quarter.end), [figures(filing.company, position)]
    whole_year = range(position - quarter.number + 1, position + 1)
    return Period(quarter.year_start, quarter.end), [figures(filing.company, n) for n in whole_year]


def _balance(company: Company, position: int) -> Iterator[Fact]:
    stands = figures(company, position)
    instant = Period(None, quarters(company)[position].end)
    for concept, value in (
        ("us-gaap:Assets", stands.assets),
        ("us-gaap:Liabilities", stands.liabilities),
        ("us-gaap:StockholdersEquity", stands.assets - stands.liabilities),
        ("us-gaap:CashAndCashEquivalentsAtCarryingValue", stands.cash),
    ):
        yield Fact(concept, instant, value, "iso4217:USD", "-6")


def _stated_amount(filing: Filing, concept: str, period: Period, member: str, value: int) -> int:
    if period.start is None or period.end is None:
        return value
    return stated_value(filing.company, concept, (period.start, period.end), member, filing.accepted.date(), value)


def _add_networks(graph: Graph, filing: Filing, ids: list[str]) -> None:
    """Add the calculation and presentation edges of the income statement: net income below operating income, and all
    items below one root.
    """
    url, bare = filing.document_url, filing.company.bare_cik
    abstract = f"{url}#IncomeStatementAbstract"
    graph.merged("Abstract", abstract, qname="us-gaap:IncomeStatementAbstract", label="Income Statement [Abstract]")
    network: dict[str, object] = {
        "network_uri": f"{filing.folder}/role/Income",
        "network_name": "Income",
        "cik": bare,
        "report_id": url,
        "company_cik": filing.company.cik,
    }
    shown_ids = [node_id for node_id in ids if f"_{NET_INCOME}_" in node_id or f"_{OPERATING_INCOME}_" in node_id]
    for order, node_id in enumerate(shown_ids, start=1):
        graph.edge(
            ("Abstract", "PRESENTATION_EDGE", "Fact"),
            abstract,
            node_id,
            **network,
            parent_id=abstract,
            child_id=node_id,
            parent_level=0,
            child_level=1,
            parent_order=1,
            child_order=order,
        )
    parent, child = shown_ids[0], shown_ids[1]
    graph.edge(
        ("Fact", "CALCULATION_EDGE", "Fact"),
        parent,
        child,
        **network,
        report_instance=url,
        parent_id=parent,
        child_id=child,
        context_id="c-1",
        weight=1.0,
        order=1.0,
    )
