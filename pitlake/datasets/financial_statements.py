"""Contract of dataset `financial_statements`."""

from pitlake.contract import Column, Dataset
from pitlake.datasets import _shared as shared

DATASET = Dataset(
    name="financial_statements",
    title="Financial statements of filings",
    summary="Balance sheet, income, cash flow and equity statements of 10-K and 10-Q filings as JSON.",
    availability=shared.FILED,
    columns=(
        *shared.FILING,
        Column(
            "statement_type",
            "string",
            "BalanceSheets, StatementsOfIncome, StatementsOfCashFlows or StatementsOfShareholdersEquity.",
            required=True,
            values=("BalanceSheets", "StatementsOfIncome", "StatementsOfCashFlows", "StatementsOfShareholdersEquity"),
        ),
        Column("value", "json", "The statement: line item to reported values."),
        Column("period_end", "date", "Period end, if the graph has it."),
    ),
    key=("accession_no", "statement_type"),
    entity="ticker",
    alike=("statement_type",),
    knowable={"ticker": "hindsight"},
    source_tag="edgar_accepted",
    gap_rules=(*shared.FILING_GAPS, *shared.unreadable("statement_type", "value", "period_end")),
)
