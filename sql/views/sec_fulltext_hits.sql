-- Documents that matched a search, one row per query, filing and document.
-- Of several revisions of one key the newest that was public counts; sec_fulltext_hits_revisions holds all of them.
CREATE VIEW sec_fulltext_hits AS
SELECT
    available_at, available_at_source, query, accession_no, document, form_type, cik, release_rule, ciks, root_forms,
    file_type, file_description, sequence, items, filing_date, period_ending, evidence
FROM sec_fulltext_hits_revisions
QUALIFY row_number() OVER (
    PARTITION BY query, accession_no, document
    ORDER BY available_at DESC, evidence DESC
) = 1;
