-- Questions and answers of calls, one row per call and place in it.
-- Of several revisions of one key the newest that was public counts; qa_exchanges_revisions holds all of them.
CREATE VIEW qa_exchanges AS
SELECT
    available_at, available_at_source, transcript_id, ticker, sequence, questioner, questioner_title,
    responders, responder_title, exchanges, conference_datetime, evidence
FROM qa_exchanges_revisions
QUALIFY row_number() OVER (
    PARTITION BY transcript_id, sequence
    ORDER BY available_at DESC, evidence DESC
) = 1;
