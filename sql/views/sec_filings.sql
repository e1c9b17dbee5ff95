-- Filings as EDGAR last described them, one row per registrant and accession number.
-- Of several revisions of one key the newest that was public counts; sec_filings_revisions holds all of them.
CREATE VIEW sec_filings AS
SELECT
    available_at, available_at_source, accession_no, form_type, cik, accepted_at, acceptance_rule,
    release_rule, acceptance_raw, filing_date, report_date, items, act, file_number, film_number, size,
    is_xbrl, is_inline_xbrl,
    primary_document, primary_document_description, url, evidence
FROM sec_filings_revisions
QUALIFY row_number() OVER (
    PARTITION BY cik, accession_no
    ORDER BY available_at DESC, evidence DESC
) = 1;
