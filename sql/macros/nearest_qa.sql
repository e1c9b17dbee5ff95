-- reads: qa_exchanges, embeddings
-- The exchanges nearest to a vector or a seed, of one company or all: cut to the company first, then ranked.
CREATE MACRO nearest_qa(embedding, seed, ticker_wanted, k) AS TABLE
WITH
    asked AS MATERIALIZED (SELECT search_vector(embedding, seed) AS asked),
    exchanges AS (
        SELECT *, transcript_id || '_qa__' || sequence AS id
        FROM qa_exchanges_of(ticker_wanted)
    ),
    scored AS MATERIALIZED (
        SELECT
            exchanges.id,
            greatest(exchanges.available_at, stored.available_at) AS available_at,
            search_similarity(stored.vector, asked) AS vector_score
        FROM embeddings AS stored
        JOIN exchanges ON exchanges.id = stored.id
        CROSS JOIN asked
        WHERE stored.kind = 'qa_exchange' AND exchanges.id IS DISTINCT FROM seed
        QUALIFY row_number() OVER (PARTITION BY exchanges.id ORDER BY vector_score DESC) = 1
    ),
    best AS (
        SELECT *
        FROM scored
        WHERE search_near(vector_score, (SELECT max(vector_score) FROM scored))
        ORDER BY vector_score DESC, id
        LIMIT k
    )
SELECT
    best.available_at,
    available_at_source,
    exchanges.id,
    questioner,
    questioner_title,
    responders,
    exchanges.exchanges,
    ticker,
    conference_datetime,
    vector_score
FROM best JOIN exchanges ON exchanges.id = best.id;
