-- Statements of 10-K and 10-Q filings as JSON, one row per filing and statement.
-- Of several revisions of one key the newest that was public counts; financial_statements_revisions holds all of them.
CREATE VIEW financial_statements AS
SELECT
    available_at, available_at_source, accession_no, form_type, cik, ticker, release_rule, statement_type, value,
    period_end,
    evidence
FROM financial_statements_revisions
QUALIFY row_number() OVER (
    PARTITION BY accession_no, statement_type
    ORDER BY available_at DESC, evidence DESC
) = 1;
