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
            "role",
            "string",
            "primary_filer, referenced, or none if no company is linked.",
            values=("primary_filer", "referenced", "none"),
            strict=True,
        ),
        Column("tickers", "strings", "Tickers of every linked company, sorted."),
        Column("period_of_report", "date", "Period the filing covers; never its availability."),
        Column("is_amendment", "bool", "Whether the filing amends an earlier one."),
        Column("items", "strings", '8-K items, such as "Item 2.02: Results of Operations …".'),
        Column("entities", "json", "Registrants named by the filing, as a JSON array."),
        Column("description", "string", "EDGAR's description of the filing."),
        Column(
            "market_session",
            "string",
            "pre_market, in_market, post_market or market_closed.",
            values=("pre_market", "in_market", "post_market", "market_closed"),
        ),
        Column("link_html", "string", "Address of the filing's index page.", pattern="https?://.+"),
        Column("link_txt", "string", "Address of the complete submission text.", pattern="https?://.+"),
        Column("primary_document_url", "string", "Address of the primary document.", pattern="https?://.+"),
        Column("exhibits", "json", "Exhibit number to address, as a JSON object."),
        Column("created", "instant", "EDGAR acceptance, as the graph gives it.", required=True),
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
