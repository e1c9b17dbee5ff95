-- reads: news, embeddings, text_vectors
-- The articles nearest to a vector or a seed, of one company or all. Rows are filtered by company first, then ranked.
-- Vectors are scored as they are read, because a join would carry 12 kilobytes per row along. Only articles that scored
-- well are looked up, but all of them if a company is given or nothing has a score.
CREATE MACRO nearest_news(embedding, seed, wanted, k, model_wanted) AS TABLE
WITH
    asked AS MATERIALIZED (SELECT search_vector(embedding, seed, model_wanted) AS vector),
    others AS MATERIALIZED (
        SELECT id FROM news_of(wanted)
        WHERE wanted::VARCHAR IS NOT NULL AND NOT list_contains(company_labels(wanted), coalesce(ticker, ''))
    ),
    scores AS MATERIALIZED (
        SELECT id, available_at, evidence, content_hash, search_similarity(vector, (FROM asked)) AS vector_score
        FROM stored_vectors('news', model_wanted)
        WHERE wanted::VARCHAR IS NULL
        UNION ALL
        SELECT id, available_at, evidence, content_hash, search_similarity(vector, (FROM asked))
        FROM stored_vectors('news', model_wanted)
        WHERE ticker IN (SELECT unnest(company_labels(wanted)))
        UNION ALL
        SELECT id, available_at, evidence, content_hash, search_similarity(vector, (FROM asked))
        FROM stored_vectors('news', model_wanted)
        WHERE id IN (FROM others)
    ),
    newest AS MATERIALIZED (FROM newest_scores('scores', model_wanted)),
    scored AS MATERIALIZED (
        SELECT id, greatest(articles.available_at, newest.available_at) AS available_at, vector_score
        FROM newest JOIN (SELECT id, available_at FROM news_of(wanted)) AS articles USING (id)
        WHERE id IS DISTINCT FROM seed
    ),
    best AS MATERIALIZED (FROM nearest_scores('scored', k, model_wanted))
SELECT best.available_at, available_at_source, id, title, channels, ticker, vector_score, evidence
FROM best JOIN news_of(wanted) AS articles USING (id);
