"""Contract of dataset `reports`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset
from pitlake.datasets import _shared as shared

DATASET = Dataset(
    name="reports",
    title="SEC filings",
    summary="One row per filing of the tracked forms (8-K, 10-Q, 10-K, their amendments and a few more).",
    availability=shared.FILED,
    columns=(
        *shared.FILING,
        Column(
            name="role",
            type="string",
            meaning="primary_filer, referenced, or none if no company is linked.",
            values=("primary_filer", "referenced", "none"),
            strict=True,
        ),
        Column(name="tickers", type="strings", meaning="Tickers of every linked company, sorted."),
        Column(name="period_of_report", type="date", meaning="Period the filing covers; never its availability."),
        Column(name="is_amendment", type="bool", meaning="Whether the filing amends an earlier one."),
        Column(name="items", type="strings", meaning='8-K items, such as "Item 2.02: Results of Operations …".'),
        Column(name="entities", type="json", meaning="Registrants named by the filing, as a JSON array."),
        Column(name="description", type="string", meaning="EDGAR's description of the filing."),
        Column(
            name="market_session",
            type="string",
            meaning="pre_market, in_market, post_market or market_closed.",
            values=("pre_market", "in_market", "post_market", "market_closed"),
        ),
        Column(name="link_html", type="string", meaning="Address of the filing's index page.", pattern="https?://.+"),
        Column(
            name="link_txt", type="string", meaning="Address of the complete submission text.", pattern="https?://.+"
        ),
        Column(
            name="primary_document_url",
            type="string",
            meaning="Address of the primary document.",
            pattern="https?://.+",
        ),
        Column(name="exhibits", type="json", meaning="Exhibit number to address, as a JSON object."),
        Column(name="created", type="instant", required=True, meaning="EDGAR acceptance, as the graph states it."),
    ),
    key=("accession_no",),
    entity="ticker",
    alike=("form_type",),
    knowable=dict.fromkeys(("ticker", "role", "tickers", "entities"), "hindsight"),
    source_tag="edgar_accepted",
    gap_rules=(
        *shared.FILING_GAPS,
        *shared.unreadable("period_of_report", "is_amendment", "items", "entities", "exhibits"),
    ),
    freshness=timedelta(days=5),
)
