-- The newest public vector of each text, one row per kind and id.
-- The window holds keys alone and the vectors are joined to it: a window over them would hold the whole dataset.
-- Of several revisions of one key the newest that was public counts; embeddings_revisions holds all of them.
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
