-- summary: Release days and knowledge cutoffs of language models, as the registry last stated them.
-- agent: macro
-- reads: model_registry
-- ids: model
-- param model text optional | Id of the model; default: every model.
-- column model | Id of the model.
-- column provider | Its provider.
-- column released | Day it was released.
-- column knowledge_cutoff | Last day of its training data; null if unknown, in which case it is assumed to know everything.
-- column source | Page with these facts.
-- column evidence
SELECT available_at, available_at_source, model, provider, released, knowledge_cutoff, source, evidence
FROM model_registry
WHERE $model::VARCHAR IS NULL OR model = $model
ORDER BY model
