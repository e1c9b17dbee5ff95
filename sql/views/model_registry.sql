-- Language models as the newest file says, one row per model.
-- Of several revisions of one key the newest that was public counts; model_registry_revisions holds all of them.
CREATE VIEW model_registry AS
SELECT
    available_at, available_at_source, model, provider, released, knowledge_cutoff, source, evidence
FROM model_registry_revisions
QUALIFY row_number() OVER (
    PARTITION BY model
    ORDER BY available_at DESC, evidence DESC
) = 1;
