-- Transcripts of earnings calls in the newest text that was public, one row per call.
-- Of several revisions of one key the newest that was public counts; call_transcripts_revisions holds all of them.
CREATE VIEW call_transcripts AS
SELECT
    available_at, available_at_source, exchange, ticker, fiscal_year, fiscal_quarter, call_start,
    stated_start, listed_start, published, file_modified, text, turns, turn_count, evidence
FROM call_transcripts_revisions
QUALIFY row_number() OVER (
    PARTITION BY exchange, ticker, fiscal_year, fiscal_quarter
    ORDER BY available_at DESC, evidence DESC
) = 1;
