"""Dataset `financial_statements`: statements of filings as JSON, dated by their filing's release."""

from assets.graph import _filings, texts
from pitlake.datasets.financial_statements import DATASET

EXTRACTOR = _filings.content_extractor(
    DATASET,
    relation="HAS_FINANCIAL_STATEMENT",
    label="FinancialStatementContent",
    fields="s.statement_type AS statement_type, s.value AS value, s.period_end AS period_end",
    parsers={"statement_type": texts.word, "value": texts.canonical_json, "period_end": texts.day},
    name="statement_type",
)
