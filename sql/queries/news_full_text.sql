-- summary: Articles about a company that match a full-text query, best match first.
-- agent: news
-- reads: news, benzinga_news
-- searches: news
-- ids: id
-- param ticker ticker optional | Ticker of the company; default: every company.
-- param query text required | Words (any may match), "quoted phrases", AND to require both sides.
-- param limit int = 20 | Maximum number of rows.
-- column id
-- column title
-- column teaser
-- column created
-- column source | Dataset of the article: news, or benzinga_news if the former does not have it.
-- column evidence
-- column ft_score [score] | BM25 score within the articles searched; compare it only within one answer.
SELECT unnest(doc), score AS ft_score
FROM search_news($query, $company, $limit)
ORDER BY score DESC, doc.available_at DESC, doc.id
LIMIT $limit
