-- The newest public vector of each text by each model, one row per kind, id and model.
-- The window function runs over keys only, and the vectors are joined afterwards; a window over the vectors would hold
-- the whole dataset in memory.
CREATE VIEW text_vectors AS
SELECT
    available_at, available_at_source, kind, id, ticker, model, vector, evidence
FROM lake.text_vectors
SEMI JOIN (
    SELECT kind, id, model, available_at, evidence
    FROM lake.text_vectors
    QUALIFY row_number() OVER (
        PARTITION BY kind, id, model
        ORDER BY available_at DESC, evidence DESC
    ) = 1
) USING (kind, id, model, available_at, evidence);
