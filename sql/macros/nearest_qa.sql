-- reads: transcripts, qa_exchanges, call_transcripts, embeddings, text_vectors
-- The exchanges nearest to a vector or a seed, of one company or all. Rows are filtered by company first, then ranked.
-- Vectors are scored as they are read, because a join would copy 12 kilobytes per row.
CREATE MACRO nearest_qa(embedding, seed, wanted, k, model_wanted) AS TABLE
WITH
    asked AS MATERIALIZED (SELECT search_vector(embedding, seed, model_wanted) AS vector),
    spoken AS (FROM exchanges_of(wanted)),
    scores AS MATERIALIZED (
        SELECT kind, id, available_at, evidence, content_hash, search_similarity(vector, (FROM asked)) AS vector_score
        FROM stored_vectors(['qa_exchange', 'call_transcripts'], model_wanted)
        WHERE wanted::VARCHAR IS NULL
        UNION ALL
        SELECT kind, id, available_at, evidence, content_hash, search_similarity(vector, (FROM asked))
        FROM stored_vectors(['qa_exchange', 'call_transcripts'], model_wanted)
        WHERE ticker IN (SELECT unnest(company_labels(wanted)))
    ),
    scored AS MATERIALIZED (
        SELECT kind, id, greatest(spoken.available_at, newest.available_at) AS available_at, vector_score
        FROM newest_scores('scores', model_wanted) AS newest
        JOIN (SELECT kind, id, available_at FROM spoken) AS spoken USING (kind, id)
        WHERE id IS DISTINCT FROM seed
    ),
    best AS (FROM nearest_scores('scored', k, model_wanted))
SELECT
    best.available_at,
    available_at_source,
    id,
    questioner,
    questioner_title,
    responders,
    exchanges,
    ticker,
    conference_datetime,
    vector_score,
    source,
    evidence
FROM best JOIN spoken USING (kind, id);
