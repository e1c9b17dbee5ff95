-- The newest public vector of each text by each model, one row per kind, id and model.
-- The window holds keys alone and the vectors are joined to it: a window over them would hold the whole dataset.
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
