-- summary: The newest articles about one company or all companies.
-- agent: news
-- reads: news, benzinga_news
-- ids: id
-- param ticker ticker optional | Ticker of the company; default: every company.
-- param limit int = 10 | Maximum number of rows.
-- column id
-- column title
-- column teaser
-- column channels
-- column created
-- column source | Dataset of the article: news, or benzinga_news if the former does not have it.
-- column evidence
SELECT available_at, available_at_source, id, title, teaser, channels, created, source, evidence
FROM articles_of($company)
ORDER BY created DESC, id
LIMIT $limit
