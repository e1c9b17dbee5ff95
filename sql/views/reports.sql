-- SEC filings as last described, one row per accession number.
-- Of several revisions of one key the newest that was public counts; reports_revisions holds all of them.
CREATE VIEW reports AS
SELECT
    available_at, available_at_source, accession_no, form_type, cik, ticker, release_rule, role, tickers,
    period_of_report, is_amendment, items, entities, description, market_session, link_html, link_txt, primary_document_url,
    exhibits, created, evidence
FROM reports_revisions
QUALIFY row_number() OVER (
    PARTITION BY accession_no
    ORDER BY available_at DESC, evidence DESC
) = 1;
