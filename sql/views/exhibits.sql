-- EX-10 and EX-99 exhibits as text, one row per filing and exhibit number.
-- Of several revisions of one key the newest that was public counts; exhibits_revisions holds all of them.
CREATE VIEW exhibits AS
SELECT
    available_at, available_at_source, accession_no, form_type, cik, ticker, release_rule, exhibit_number, content,
    evidence
FROM exhibits_revisions
QUALIFY row_number() OVER (
    PARTITION BY accession_no, exhibit_number
    ORDER BY available_at DESC, evidence DESC
) = 1;
