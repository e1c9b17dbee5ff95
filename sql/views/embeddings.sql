-- The newest public vector of each text, one row per kind and id.
-- The window function runs over keys only, and the vectors are joined afterwards; a window over the vectors would hold
-- the whole dataset in memory. Of several revisions of a key, the newest public one is used; embeddings_revisions has
-- every revision.
CREATE VIEW embeddings AS
SELECT
    available_at, available_at_source, kind, id, ticker, vector, evidence
FROM lake.embeddings
SEMI JOIN (
    SELECT kind, id, available_at, evidence
    FROM lake.embeddings
    QUALIFY row_number() OVER (
        PARTITION BY kind, id
        ORDER BY available_at DESC, evidence DESC
    ) = 1
) USING (kind, id, available_at, evidence);
