-- What management read out, one row per call.
-- Of several revisions of one key the newest that was public counts; prepared_remarks_revisions holds all of them.
CREATE VIEW prepared_remarks AS
SELECT
    available_at, available_at_source, transcript_id, ticker, content, conference_datetime, evidence
FROM prepared_remarks_revisions
QUALIFY row_number() OVER (
    PARTITION BY transcript_id
    ORDER BY available_at DESC, evidence DESC
) = 1;
