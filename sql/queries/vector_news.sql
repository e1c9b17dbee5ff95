-- summary: The articles nearest in meaning to an embedding or to another article.
-- agent: vector
-- reads: news, benzinga_news, embeddings, text_vectors
-- searches: embeddings, text_vectors
-- ids: id
-- hindsight: *
-- param embedding vector optional | Embedding of the query, by the same model as the stored vectors.
-- param seed_id text optional | Id of a stored text whose nearest texts are searched; the text itself is not returned.
-- param ticker ticker optional | Ticker of the company; default: every company.
-- param k int = 5 | Maximum number of rows.
-- param model text optional | Model of the vectors, as in text_vectors.model; default: the graph's own.
-- one of: embedding, seed_id
-- column id
-- column title
-- column channels
-- column ticker | First ticker the article is about.
-- column vector_score
-- column source | Dataset of the article: news, or benzinga_news if the former does not have it.
-- column evidence
SELECT available_at, available_at_source, id, title, channels, ticker, vector_score, source, evidence
FROM nearest_news($embedding, $seed_id, $company, $k, $model)
ORDER BY vector_score DESC, id
