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
-- column questioner | Who asked; null for a turn, whose speaker is in exchanges.
-- column questioner_title | Employer of the questioner.
-- column responders | Who answered, joined by commas; null for a turn.
-- column exchanges | Questions and answers in order, or one speaker's turn, as a JSON array.
-- column ticker | Ticker of the company.
-- column conference_datetime | Start of the call.
-- column vector_score [similarity] | Cosine similarity: 0.80 or more; 0.70 or more if nothing reaches 0.80; 0.20 or more for a model's vectors.
-- column source | Dataset of the text: qa_exchanges, or call_transcripts (turns) if the former does not have the call.
-- column evidence | Source record of the row.
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
