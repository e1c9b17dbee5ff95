-- reads: news, benzinga_news, embeddings, text_vectors
-- The articles nearest to a vector or a seed, of one company or all. Rows are filtered by company first, then ranked.
-- Vectors are scored as they are read, because a join would copy 12 kilobytes per row. Only articles with good scores
-- are looked up; all articles are if a company is given or no vector has a score.
CREATE MACRO nearest_news(embedding, seed, wanted, k, model_wanted) AS TABLE
WITH
    asked AS MATERIALIZED (SELECT search_vector(embedding, seed, model_wanted) AS vector),
    others AS MATERIALIZED (
        SELECT source AS kind, id FROM articles_of(wanted)
        WHERE wanted::VARCHAR IS NOT NULL AND NOT list_contains(company_labels(wanted), coalesce(ticker, ''))
    ),
    scores AS MATERIALIZED (
        SELECT kind, id, available_at, evidence, content_hash, search_similarity(vector, (FROM asked)) AS vector_score
        FROM stored_vectors(['news', 'benzinga_news'], model_wanted)
        WHERE wanted::VARCHAR IS NULL
        UNION ALL
        SELECT kind, id, available_at, evidence, content_hash, search_similarity(vector, (FROM asked))
        FROM stored_vectors(['news', 'benzinga_news'], model_wanted)
        WHERE ticker IN (SELECT unnest(company_labels(wanted)))
        UNION ALL
        SELECT kind, id, available_at, evidence, content_hash, search_similarity(vector, (FROM asked))
        FROM stored_vectors(['news', 'benzinga_news'], model_wanted)
        WHERE (kind, id) IN (SELECT (kind, id) FROM others)
    ),
    newest AS MATERIALIZED (FROM newest_scores('scores', model_wanted)),
    scored AS MATERIALIZED (
        SELECT kind, id, greatest(articles.available_at, newest.available_at) AS available_at, vector_score
        FROM newest JOIN (SELECT source AS kind, id, available_at FROM articles_of(wanted)) AS articles USING (kind, id)
        WHERE id IS DISTINCT FROM seed AND id IS DISTINCT FROM 'bzNews_' || seed
    ),
    best AS MATERIALIZED (FROM nearest_scores('scored', k, model_wanted))
SELECT best.available_at, available_at_source, best.id, title, channels, ticker, vector_score, source, evidence
FROM best JOIN articles_of(wanted) AS articles ON articles.source = best.kind AND articles.id = best.id;
