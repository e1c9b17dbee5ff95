-- reads: qa_exchanges
-- What the view `qa_exchanges` holds about one company, or about all when the ticker is null. A filter by ticker does not
-- pass below the view's window over the key, so the view reads the whole dataset. Here the keys come first, then their
-- newest revisions by small columns alone, and only then the texts, of which a window would hold every one.
CREATE MACRO qa_exchanges_of(wanted) AS TABLE
WITH
    keys AS MATERIALIZED (SELECT transcript_id FROM lake.qa_exchanges WHERE ticker = wanted),
    newest AS (
        SELECT transcript_id, sequence, available_at, evidence, content_hash
        FROM lake.qa_exchanges
        WHERE wanted::VARCHAR IS NULL OR transcript_id IN (FROM keys)
        QUALIFY row_number() OVER (PARTITION BY transcript_id, sequence ORDER BY available_at DESC, evidence DESC, content_hash DESC) = 1
    )
FROM lake.qa_exchanges SEMI JOIN newest USING (transcript_id, sequence, available_at, evidence, content_hash)
WHERE wanted::VARCHAR IS NULL OR ticker = wanted;
