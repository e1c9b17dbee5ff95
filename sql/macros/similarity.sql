-- reads: embeddings
-- Nearest stored embeddings by cosine, over rows the session has: cut first, then ranked.

-- The vector asked about: the one given, or the newest one of a seed of any kind. An unknown seed is an error, the
-- same whether the text comes to exist later or never does.
CREATE MACRO search_vector(embedding, seed) AS
    coalesce(
        embedding::FLOAT[],
        (SELECT any_value(vector) FROM embeddings WHERE id = seed),
        error('seed_id: no text of that id has an embedding as of this instant')::FLOAT[]
    );

-- Cosine similarity; null between vectors of different lengths, which come from different models.
CREATE MACRO search_similarity(one, other) AS
    CASE WHEN len(one) = len(other) THEN round(list_cosine_similarity(one, other)::DOUBLE, 6) END;

-- Whether a score counts, given the best one: 0.80 or more, and only when nothing reaches that, 0.70 or more.
CREATE MACRO search_near(score, best) AS
    CASE
        WHEN best IS NULL THEN error('embedding: no stored vector has as many numbers')::BOOLEAN
        ELSE NOT isnan(score) AND (score >= 0.8 OR (best < 0.8 AND score >= 0.7))
    END;

-- Of scored revisions the newest of each text.
CREATE MACRO newest_scores(scores) AS TABLE
FROM query_table(scores)
QUALIFY row_number() OVER (PARTITION BY id ORDER BY available_at DESC, evidence DESC, content_hash DESC) = 1;

-- The k best of the scores that count.
CREATE MACRO nearest_scores(scored, k) AS TABLE
FROM query_table(scored)
WHERE search_near(vector_score, (SELECT max(vector_score) FROM query_table(scored)))
ORDER BY vector_score DESC, id
LIMIT k;
