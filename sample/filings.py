"""Reports and their parts: sections, exhibits, statements, whole texts, and edges to filers and benchmarks.

Report nodes keep booleans and JSON text. Content nodes are written by the merge helper, which turns numbers into
display text. `xbrl` creates the XBRL.
"""

from datetime import timedelta, timezone

from sample.calendar import market_session
from sample.companies import Company
from sample.fiscal import Figures, figures, position_of
from sample.returns import add_influences, event_returns, schedule_json
from sample.schedule import ITEMS, Filing
from sample.shapes import Graph, as_json, iso_new_york, rng
from sample.texts import prose

FORMS = ("8-K", "10-Q", "10-K", "425", "SCHEDULE 13D", "6-K", "SC TO-I", "SC 14D9")
_QUARTERS = ("10-Q_Q1", "10-Q_Q2", "10-Q_Q3", "10-Q_Q4")
_YEARS = ("10-K_FYE-0131", "10-K_FYE-0331", "10-K_FYE-0630", "10-K_FYE-1231")

# The two names of the 10-K with a curly apostrophe, and those of the 10-Q without one, are as in the real graph.
SECTIONS_10K = (
    "Business",
    "RiskFactors",
    "UnresolvedStaffComments",
    "Cybersecurity",
    "Properties",
    "LegalProceedings",
    "MineSafetyDisclosures",
    "MarketforRegistrant\u2019sCommonEquity,RelatedStockholderMattersandIssuerPurchasesofEquitySecurities",
    "Management\u2019sDiscussionandAnalysisofFinancialConditionandResultsofOperations",
    "QuantitativeandQualitativeDisclosuresaboutMarketRisk",
    "FinancialStatementsandSupplementaryData",
    "ChangesinandDisagreementswithAccountantsonAccountingandFinancialDisclosure",
    "ControlsandProcedures",
    "OtherInformation",
    "DisclosureRegardingForeignJurisdictionsthatPreventInspections",
    "Directors,ExecutiveOfficersandCorporateGovernance",
    "ExecutiveCompensation",
    "SecurityOwnershipofCertainBeneficialOwnersandManagementandRelatedStockholderMatters",
    "CertainRelationshipsandRelatedTransactions,andDirectorIndependence",
    "PrincipalAccountantFeesandServices",
    "ExhibitsandFinancialStatementSchedules",
)
SECTIONS_10Q = (
    "FinancialStatements",
    "ManagementsDiscussionandAnalysisofFinancialConditionandResultsofOperations",
    "QuantitativeandQualitativeDisclosuresAboutMarketRisk",
    "ControlsandProcedures",
    "LegalProceedings",
    "RiskFactors",
    "UnregisteredSalesofEquitySecuritiesandUseofProceeds",
    "OtherInformation",
    "Exhibits",
)
SECTIONS_AMENDED = ("ExplanatoryNote", "FinancialStatementsandSupplementaryData", "ControlsandProcedures", "Exhibits")


def add_form_tree(graph: Graph) -> None:
    """Add the sixteen administrative categories: forms, and the fiscal variants of 10-Q and 10-K."""
    for code in (*FORMS, *_QUARTERS, *_YEARS):
        form = code.split("_", maxsplit=1)[0]
        graph.merged("AdminReport", code, code=code, category=form, label=code, displayLabel=code.replace("_", " "))
        if "_" in code:
            graph.edge(("AdminReport", "HAS_SUB_REPORT", "AdminReport"), form, code)


def add_filing(graph: Graph, filing: Filing) -> None:
    """Add a filing of a company with everything except its XBRL."""
    add_report(graph, filing, xbrl_status="COMPLETED" if filing.has_facts else "SKIPPED")
    link_filer(graph, filing)
    random = rng("filing", filing.accession)
    for name in section_names(filing):
        add_section(graph, filing, name, prose(random, 9 if filing.has_facts else 5))
    for number in filing.exhibits:
        text, quarter = prose(random, 6), filing.quarter
        if quarter is not None:
            earnings = figures(filing.company, position_of(filing.company, quarter.end))
            text = (
                f"{filing.company.name} reports results for the quarter ended {quarter.end:%B %d, %Y}: revenue of "
                f"${earnings.revenue / 1e6:,.0f} million and diluted earnings of ${earnings.eps:.2f} a share. {text}"
            )
        add_exhibit(graph, filing, number, text)
    if not filing.has_facts and random.random() < 0.02:
        add_whole_text(graph, filing, prose(random, 20))
    if filing.has_facts and filing.quarter:
        company: Company = filing.company
        results: Figures = figures(company, position_of(company, filing.period))
        period = {"endDate": filing.period.isoformat()}
        for kind, lines in {
            "BalanceSheets": {"Assets": results.assets, "Liabilities": results.liabilities},
            "StatementsOfIncome": {"Revenues": results.revenue, "NetIncomeLoss": results.net_income},
            "StatementsOfCashFlows": {"NetCashProvidedByOperatingActivities": results.cash_flow},
            "StatementsOfShareholdersEquity": {"StockholdersEquity": results.assets - results.liabilities},
        }.items():
            value = {
                name: [{"value": str(amount), "unitRef": "usd", "period": period}] for name, amount in lines.items()
            }
            add_statement(graph, filing, kind, value)


def section_names(filing: Filing) -> tuple[str, ...]:
    """Return the sections of a filing, according to its form or, for an 8-K, its items."""
    if filing.form == "10-K":
        return SECTIONS_10K
    if filing.form == "10-Q":
        return SECTIONS_10Q
    if filing.form.endswith("/A"):
        return SECTIONS_AMENDED
    return tuple(ITEMS[item].replace(" ", "") for item in filing.items)


def add_report(graph: Graph, filing: Filing, **overrides: object) -> str:
    """Add the Report node. `overrides` replace properties; None leaves one out."""
    company, files = filing.company, {number: f"{filing.folder}/{number.lower()}.htm" for number in filing.exhibits}
    properties: dict[str, object] = {
        "accessionNo": filing.accession,
        "formType": filing.form,
        "created": iso_new_york(filing.accepted),
        "cik": company.cik,
        "periodOfReport": filing.period.isoformat(),
        "isAmendment": filing.form.endswith("/A"),
        "is_xml": filing.has_facts,
        "items": as_json([f"Item {item}: {ITEMS[item]}" for item in filing.items]) if filing.items else "[]",
        "entities": as_json([{"companyName": f"{company.name} (Filer)", "cik": company.bare_cik}]),
        "symbols": as_json([company.ticker]),
        "exhibits": as_json(files),
        "exhibit_contents": "{}",
        "extracted_sections": "{}",
        "financial_statements": "{}",
        "returns_schedule": schedule_json(filing.accepted),
        "market_session": market_session(filing.accepted),
        "description": f"Form {filing.form} - {company.name}",
        "linkToHtml": f"{filing.folder}/{filing.accession}-index.htm",
        "linkToTxt": f"{filing.folder}/{filing.accession}.txt",
        "linkToFilingDetails": filing.document_url,
        "primaryDocumentUrl": filing.document_url,
    }
    graph.node("Report", filing.accession, **(properties | overrides))
    return filing.accession


def link_filer(graph: Graph, filing: Filing, relation: str = "PRIMARY_FILER", **overrides: object) -> None:
    """Add the edge to the company with the returns after the filing, and the edges to its form and benchmarks."""
    company, accession = filing.company, filing.accession
    returns = event_returns(company, accession, filing.accepted)
    link_created = (filing.accepted + timedelta(hours=9)).astimezone(timezone.utc).isoformat(timespec="seconds")
    facts: dict[str, object] = {"symbol": company.ticker, "created_at": link_created}
    graph.edge(("Report", relation, "Company"), accession, company.cik, **(facts | returns | overrides))
    add_influences(graph, "Report", accession, company, link_created, returns)
    graph.edge(("Report", "IN_CATEGORY", "AdminReport"), accession, filing.form.split("/", maxsplit=1)[0])


def _content(filing: Filing) -> dict[str, object]:
    return {
        "form_type": filing.form,
        "filer_cik": filing.company.cik,
        "filed_at": iso_new_york(filing.accepted),
        "filing_id": filing.accession,
    }


def add_section(graph: Graph, filing: Filing, name: str, content: str, linked: bool = True) -> str:
    """Add a section; `linked=False` leaves it without its report."""
    node_id = f"{filing.accession}_{name}"
    facts = _content(filing) | {"section_name": name, "content": content, "content_length": len(content)}
    graph.merged("ExtractedSectionContent", node_id, **facts)
    if linked:
        graph.edge(("Report", "HAS_SECTION", "ExtractedSectionContent"), filing.accession, node_id)
    return node_id


def add_exhibit(graph: Graph, filing: Filing, number: str, content: str, linked: bool = True) -> str:
    """Add an exhibit, whose id repeats the prefix of its number."""
    node_id = f"{filing.accession}_EX-{number}"
    graph.merged("ExhibitContent", node_id, **_content(filing), exhibit_number=number, content=content)
    if linked:
        graph.edge(("Report", "HAS_EXHIBIT", "ExhibitContent"), filing.accession, node_id)
    return node_id


def add_statement(graph: Graph, filing: Filing, kind: str, value: object, linked: bool = True) -> str:
    node_id = f"{filing.accession}_{kind}"
    facts = _content(filing) | {"statement_type": kind, "value": as_json(value)}
    graph.merged("FinancialStatementContent", node_id, **facts, period_end=filing.period)
    if linked:
        graph.edge(("Report", "HAS_FINANCIAL_STATEMENT", "FinancialStatementContent"), filing.accession, node_id)
    return node_id


def add_whole_text(graph: Graph, filing: Filing, content: str, linked: bool = True) -> str:
    """Add the whole text of a filing, the fallback if it could not be parsed."""
    node_id = f"{filing.accession}_text"
    graph.merged("FilingTextContent", node_id, **(_content(filing) | {"filer_cik": None}), content=content)
    if linked:
        graph.edge(("Report", "HAS_FILING_TEXT", "FilingTextContent"), filing.accession, node_id)
    return node_id
