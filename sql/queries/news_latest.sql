-- summary: The newest articles about a company, or about any.
-- agent: news
-- reads: news, benzinga_news
-- ids: id
-- param ticker ticker optional | Ticker of the company; without it, every company.
-- param limit int = 10 | How many rows at most.
-- column id | Article id.
-- column title | Headline.
-- column teaser | Short text under the headline.
-- column channels | Editorial channels.
-- column created | When the article first appeared.
-- column source | Dataset of the article: news, or benzinga_news where the former does not have it.
-- column evidence | What the row is taken from.
SELECT available_at, available_at_source, id, title, teaser, channels, created, source, evidence
FROM articles_of($company)
ORDER BY created DESC, id
LIMIT $limit
