-- summary: When language models were released and up to when they know, as the registry's newest word says.
-- agent: macro
-- reads: model_registry
-- ids: model
-- param model text optional | Id of the model; without it, every model.
-- column model | Id of the model.
-- column provider | Who makes it.
-- column released | Day it was released.
-- column knowledge_cutoff | Last day it was trained on; null where that is unknown, which counts as everything.
-- column source | Page that says so.
-- column evidence | What the row is taken from.
SELECT available_at, available_at_source, model, provider, released, knowledge_cutoff, source, evidence
FROM model_registry
WHERE $model::VARCHAR IS NULL OR model = $model
ORDER BY model
