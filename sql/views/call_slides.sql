-- Slide decks of earnings calls, one row per call; the captures keep the PDF under its hash.
-- Of several revisions of one key the newest that was public counts; call_slides_revisions holds all of them.
CREATE VIEW call_slides AS
SELECT
    available_at, available_at_source, exchange, ticker, fiscal_year, fiscal_quarter, call_start,
    file_modified, sha256, size, evidence
FROM call_slides_revisions
QUALIFY row_number() OVER (
    PARTITION BY exchange, ticker, fiscal_year, fiscal_quarter
    ORDER BY available_at DESC, evidence DESC
) = 1;
