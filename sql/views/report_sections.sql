-- Named items of filings as text, one row per filing and section.
-- Of several revisions of one key the newest that was public counts; report_sections_revisions holds all of them.
CREATE VIEW report_sections AS
SELECT
    available_at, available_at_source, accession_no, form_type, cik, ticker, release_rule, section_name, content,
    content_length, evidence
FROM report_sections_revisions
QUALIFY row_number() OVER (
    PARTITION BY accession_no, section_name
    ORDER BY available_at DESC, evidence DESC
) = 1;
