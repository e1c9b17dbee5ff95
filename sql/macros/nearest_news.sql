-- reads: news, embeddings
-- The articles nearest to a vector or a seed, of one company or all: cut to the company first, then ranked.
CREATE MACRO nearest_news(embedding, seed, ticker_wanted, k) AS TABLE
WITH
    asked AS MATERIALIZED (SELECT search_vector(embedding, seed) AS asked),
    scored AS MATERIALIZED (
        SELECT
            news.id,
            greatest(news.available_at, stored.available_at) AS available_at,
            search_similarity(stored.vector, asked) AS vector_score
        FROM embeddings AS stored
        JOIN news_of(ticker_wanted) AS news ON news.id = stored.id
        CROSS JOIN asked
        WHERE stored.kind = 'news' AND news.id IS DISTINCT FROM seed
        QUALIFY row_number() OVER (PARTITION BY news.id ORDER BY vector_score DESC) = 1
    ),
    best AS (
        SELECT *
        FROM scored
        WHERE search_near(vector_score, (SELECT max(vector_score) FROM scored))
        ORDER BY vector_score DESC, id
        LIMIT k
    )
SELECT best.available_at, news.available_at_source, news.id, title, channels, ticker, vector_score
FROM best JOIN news_of(ticker_wanted) AS news ON news.id = best.id;
