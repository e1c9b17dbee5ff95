-- reads: news, embeddings, text_vectors
-- The articles nearest to a vector or a seed, of one company or all: cut to the company first, then ranked.
-- Vectors are scored where they are read and go no further: a join would carry them, 12 kilobytes a row, along.
CREATE MACRO nearest_news(embedding, seed, ticker_wanted, k, model_wanted) AS TABLE
WITH
    asked AS MATERIALIZED (SELECT search_vector(embedding, seed, model_wanted) AS vector),
    articles AS MATERIALIZED (SELECT id, ticker, available_at FROM news_of(ticker_wanted)),
    others AS MATERIALIZED (
        SELECT id FROM articles WHERE ticker_wanted::VARCHAR IS NOT NULL AND ticker IS DISTINCT FROM ticker_wanted
    ),
    scores AS MATERIALIZED (
        SELECT id, available_at, evidence, content_hash, search_similarity(vector, (FROM asked)) AS vector_score
        FROM stored_vectors('news', model_wanted)
        WHERE (ticker_wanted::VARCHAR IS NULL OR ticker = ticker_wanted)
        UNION ALL
        SELECT id, available_at, evidence, content_hash, search_similarity(vector, (FROM asked))
        FROM stored_vectors('news', model_wanted)
        WHERE ticker IS DISTINCT FROM ticker_wanted AND id IN (FROM others)
    ),
    scored AS MATERIALIZED (
        SELECT id, greatest(articles.available_at, newest.available_at) AS available_at, vector_score
        FROM newest_scores('scores', model_wanted) AS newest
        JOIN articles USING (id)
        WHERE id IS DISTINCT FROM seed
    ),
    best AS (FROM nearest_scores('scored', k, model_wanted))
SELECT best.available_at, available_at_source, id, title, channels, ticker, vector_score, evidence
FROM best JOIN news_of(ticker_wanted) USING (id);
