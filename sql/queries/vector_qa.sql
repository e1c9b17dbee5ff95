-- summary: The questions, answers and speakers' turns of earnings calls nearest in meaning to an embedding or to another exchange.
-- agent: vector
-- reads: transcripts, qa_exchanges, call_transcripts, embeddings, text_vectors
-- searches: embeddings, text_vectors
-- ids: id
-- hindsight: *
-- param embedding vector optional | Embedding of the query, by the same model as the stored vectors.
-- param seed_id text optional | Id of a stored text whose nearest texts are searched; the text itself is not returned.
-- param ticker ticker optional | Ticker of the company; default: every company.
-- param k int = 5 | Maximum number of rows.
-- param model text optional | Model of the vectors, as in text_vectors.model; default: the graph's own.
-- one of: embedding, seed_id
-- column id | The call's id, `_qa__` and the position in the call.
-- column questioner
-- column questioner_title
-- column responders
-- column exchanges
-- column ticker | Ticker of the company.
-- column conference_datetime
-- column vector_score
-- column source | Dataset of the text: qa_exchanges, or call_transcripts (turns) if the former does not have the call.
-- column evidence
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
    source,
    evidence
FROM nearest_qa($embedding, $seed_id, $company, $k, $model)
ORDER BY vector_score DESC, id
