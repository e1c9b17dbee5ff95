-- Whole filings as text where sections could not be parsed, one row per filing.
-- Of several revisions of one key the newest that was public counts; filing_texts_revisions holds all of them.
CREATE VIEW filing_texts AS
SELECT
    available_at, available_at_source, accession_no, form_type, cik, ticker, release_rule, content, evidence
FROM filing_texts_revisions
QUALIFY row_number() OVER (
    PARTITION BY accession_no
    ORDER BY available_at DESC, evidence DESC
) = 1;
