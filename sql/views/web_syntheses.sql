-- Prose that models wrote about the web: no date proves it, so in open mode alone.
-- Of several revisions of one key the newest that was public counts; web_syntheses_revisions holds all of them.
CREATE VIEW web_syntheses AS
SELECT
    available_at, available_at_source, answer_id, operation, query, model, answer, citations,
    thoughts_removed, evidence
FROM web_syntheses_revisions
QUALIFY row_number() OVER (
    PARTITION BY answer_id
    ORDER BY available_at DESC, evidence DESC
) = 1;
