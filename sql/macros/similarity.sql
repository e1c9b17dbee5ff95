-- reads: embeddings, text_vectors
-- Nearest stored embeddings by cosine, over rows the session has: cut first, then ranked.

-- The vector asked about: the one given, or the newest one of a seed of any kind, the graph's or by a model. An unknown
-- seed is an error, the same whether the text comes to exist later or never does.
CREATE MACRO search_vector(embedding, seed, model_wanted) AS
    coalesce(
        embedding::FLOAT[],
        CASE WHEN model_wanted::VARCHAR IS NULL
            THEN (SELECT any_value(vector) FROM embeddings WHERE id = seed)
            ELSE (SELECT any_value(vector) FROM text_vectors WHERE id = seed AND model = model_wanted)
        END,
        error('seed_id: no text of that id has an embedding as of this instant')::FLOAT[]
    );

-- Every stored vector of a kind: the graph's, or those by a model.
CREATE MACRO stored_vectors(kind_wanted, model_wanted) AS TABLE
SELECT id, ticker, available_at, evidence, content_hash, vector
FROM lake.embeddings
WHERE kind = kind_wanted AND model_wanted::VARCHAR IS NULL
UNION ALL
SELECT id, ticker, available_at, evidence, content_hash, vector
FROM lake.text_vectors
WHERE kind = kind_wanted AND model = model_wanted;

-- Cosine similarity; null between vectors of different lengths, which come from different models.
CREATE MACRO search_similarity(one, other) AS
    CASE WHEN len(one) = len(other) THEN round(list_cosine_similarity(one, other)::DOUBLE, 6) END;

-- The least score that counts: of the graph's vectors 0.70, where none reaches 0.80; of a model's 0.20, which 1 in 20
-- pairs of unlike headlines reaches.
CREATE MACRO search_floor(model_wanted) AS CASE WHEN model_wanted::VARCHAR IS NULL THEN 0.7 ELSE 0.2 END;

-- Whether a score counts, given the best one. A vector of zeros has no direction: its score is no number.
CREATE MACRO search_near(score, best, model_wanted) AS
    CASE
        WHEN best IS NULL THEN error('embedding: no stored vector has as many numbers')::BOOLEAN
        WHEN isnan(score) THEN false
        ELSE score >= CASE WHEN model_wanted::VARCHAR IS NULL AND best >= 0.8 THEN 0.8 ELSE search_floor(model_wanted) END
    END;

-- Of scored revisions the newest of each text that has a score that may count. Most have none: looking for the newest
-- of these would take longer than scoring them. Where nothing has a score at all, all are kept, to be told of.
CREATE MACRO newest_scores(scores, model_wanted) AS TABLE
FROM query_table(scores)
WHERE id IN (SELECT id FROM query_table(scores) WHERE vector_score >= search_floor(model_wanted))
    OR (SELECT max(vector_score) FROM query_table(scores)) IS NULL
QUALIFY row_number() OVER (PARTITION BY id ORDER BY available_at DESC, evidence DESC, content_hash DESC) = 1;

-- The k best of the scores that count.
CREATE MACRO nearest_scores(scored, k, model_wanted) AS TABLE
FROM query_table(scored)
WHERE search_near(
    vector_score,
    (SELECT coalesce(max(vector_score) FILTER (NOT isnan(vector_score)), max(vector_score)) FROM query_table(scored)),
    model_wanted
)
ORDER BY vector_score DESC, id
LIMIT k;
