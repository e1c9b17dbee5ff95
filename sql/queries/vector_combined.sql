-- summary: The articles and the exchanges of calls nearest in meaning to an embedding or to another text.
-- agent: vector
-- reads: news, benzinga_news, transcripts, qa_exchanges, call_transcripts, embeddings, text_vectors
-- searches: embeddings, text_vectors
-- ids: id
-- hindsight: *
-- param embedding vector optional | Embedding of the query, by the same model as the stored vectors.
-- param seed_id text optional | Id of a stored text whose nearest texts are searched; the text itself is not returned.
-- param ticker ticker optional | Ticker of the company; default: every company.
-- param k int = 5 | Maximum number of articles, and of exchanges.
-- param model text optional | Model of the vectors, as in text_vectors.model; default: the graph's own.
-- one of: embedding, seed_id
-- column result_type | news or qaexchange.
-- column id | Article id; or the call's id, `_qa__` and the position in the call.
-- column title | Headline of an article.
-- column channels | Editorial channels of an article.
-- column questioner
-- column questioner_title
-- column responders
-- column exchanges
-- column ticker | Ticker of the company.
-- column conference_datetime
-- column vector_score
-- column source | Dataset of the text: news, benzinga_news, qa_exchanges or call_transcripts (turns).
-- column evidence
SELECT
    available_at,
    available_at_source,
    'news' AS result_type,
    id,
    title,
    channels,
    NULL AS questioner,
    NULL AS questioner_title,
    NULL AS responders,
    NULL AS exchanges,
    ticker,
    NULL AS conference_datetime,
    vector_score,
    source,
    evidence
FROM nearest_news($embedding, $seed_id, $company, $k, $model)
UNION ALL
SELECT
    available_at,
    available_at_source,
    'qaexchange',
    id,
    NULL,
    NULL,
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
ORDER BY vector_score DESC, result_type, id
