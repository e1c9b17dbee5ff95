-- summary: The questions and answers of earnings calls nearest in meaning to an embedding or to another exchange.
-- agent: vector
-- reads: qa_exchanges, embeddings, text_vectors
-- searches: embeddings, text_vectors
-- ids: id
-- hindsight: *
-- param embedding vector optional | The query's embedding, of the model the stored vectors come from.
-- param seed_id text optional | Id of a stored text to look for the like of; it is not in the answer itself.
-- param ticker ticker optional | Ticker of the company; without it, every company.
-- param k int = 5 | How many rows at most.
-- param model text optional | Whose vectors, as in text_vectors.model; without it, the graph's own.
-- one of: embedding, seed_id
-- column id | The call, `_qa__`, and the place in the call.
-- column questioner | Who asked.
-- column questioner_title | Whom the questioner works for.
-- column responders | Who answered, joined by commas.
-- column exchanges | Questions and answers in order, as a JSON array.
-- column ticker | Ticker of the company.
-- column conference_datetime | Start of the call.
-- column vector_score [similarity] | Cosine similarity: 0.80 or more; 0.70 or more when nothing reaches 0.80; 0.20 or more by a model.
-- column evidence | What the row is taken from.
SELECT
    available_at,
    available_at_source,
    id,
    questioner,
    questioner_title,
    responders,
    exchanges,
    ticker,
    conference_datetime,
    vector_score,
    evidence
FROM nearest_qa($embedding, $seed_id, $company, $k, $model)
ORDER BY vector_score DESC, id
