-- summary: The articles nearest in meaning to an embedding or to another article.
-- agent: vector
-- reads: news, embeddings, text_vectors
-- searches: embeddings, text_vectors
-- ids: id
-- hindsight: *
-- param embedding vector optional | The query's embedding, of the model the stored vectors come from.
-- param seed_id text optional | Id of a stored text to look for the like of; it is not in the answer itself.
-- param ticker ticker optional | Ticker of the company; without it, every company.
-- param k int = 5 | How many rows at most.
-- param model text optional | Whose vectors, as in text_vectors.model; without it, the graph's own.
-- one of: embedding, seed_id
-- column id | Article id.
-- column title | Headline.
-- column channels | Editorial channels.
-- column ticker | First ticker the article is about.
-- column vector_score [similarity] | Cosine similarity: 0.80 or more; 0.70 or more when nothing reaches 0.80; 0.20 or more by a model.
-- column evidence | What the row is taken from.
SELECT available_at, available_at_source, id, title, channels, ticker, vector_score, evidence
FROM nearest_news($embedding, $seed_id, $company, $k, $model)
ORDER BY vector_score DESC, id
