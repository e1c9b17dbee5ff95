-- reads: embeddings, text_vectors
-- Nearest stored embeddings by cosine similarity. Rows after the cut-off are removed first, then the rest is ranked.

-- The vector to search for: `embedding`, or the newest vector of the seed, from the graph or a model. An unknown seed
-- raises an error. The error is the same whether the text appears later or never.
CREATE MACRO search_vector(embedding, seed, model_wanted) AS
    coalesce(
        embedding::FLOAT[],
        CASE WHEN model_wanted::VARCHAR IS NULL
            THEN (SELECT any_value(vector) FROM embeddings WHERE id = seed)
            ELSE (SELECT any_value(vector) FROM text_vectors WHERE id = seed AND model = model_wanted)
        END,
        error('seed_id: no text of that id has an embedding as of this instant')::FLOAT[]
    );

-- Every stored vector of these kinds, from the graph or from a model.
CREATE MACRO stored_vectors(kinds, model_wanted) AS TABLE
SELECT kind, id, ticker, available_at, evidence, content_hash, vector
FROM lake.embeddings
WHERE kind IN kinds AND model_wanted::VARCHAR IS NULL
UNION ALL
SELECT kind, id, ticker, available_at, evidence, content_hash, vector
FROM lake.text_vectors
WHERE kind IN kinds AND model = model_wanted;

-- Cosine similarity; null for vectors of different lengths, which come from different models.
CREATE MACRO search_similarity(one, other) AS
    CASE WHEN len(one) = len(other) THEN round(list_cosine_similarity(one, other)::DOUBLE, 6) END;

-- The lowest score that is high enough: 0.70 for the graph's vectors if none reaches 0.80, and 0.20 for a model's
-- vectors, which 1 in 20 pairs of unrelated headlines reaches.
CREATE MACRO search_floor(model_wanted) AS CASE WHEN model_wanted::VARCHAR IS NULL THEN 0.7 ELSE 0.2 END;

-- Whether a score is high enough, which depends on the best score. A vector of zeros has no direction, so its score is
-- NaN.
CREATE MACRO search_near(score, best, model_wanted) AS
    CASE
        WHEN best IS NULL THEN error('embedding: no stored vector has as many numbers')::BOOLEAN
        WHEN isnan(score) THEN false
        ELSE score >= CASE WHEN model_wanted::VARCHAR IS NULL AND best >= 0.8 THEN 0.8 ELSE search_floor(model_wanted) END
    END;

-- The newest scored revision of each text that has a revision with a score that may count. The other texts are left out
-- first, because finding their newest revision would take longer than scoring them. If no text has a score, all texts
-- are kept, so that `search_near` can report this.
CREATE MACRO newest_scores(scores, model_wanted) AS TABLE
FROM query_table(scores)
WHERE (kind, id) IN (SELECT (kind, id) FROM query_table(scores) WHERE vector_score >= search_floor(model_wanted))
    OR (SELECT max(vector_score) FROM query_table(scores)) IS NULL
QUALIFY row_number() OVER (PARTITION BY kind, id ORDER BY available_at DESC, evidence DESC, content_hash DESC) = 1;

-- The k best of the scores that are high enough.
CREATE MACRO nearest_scores(scored, k, model_wanted) AS TABLE
FROM query_table(scored)
WHERE search_near(
    vector_score,
    (SELECT coalesce(max(vector_score) FILTER (NOT isnan(vector_score)), max(vector_score)) FROM query_table(scored)),
    model_wanted
)
ORDER BY vector_score DESC, id
LIMIT k;
