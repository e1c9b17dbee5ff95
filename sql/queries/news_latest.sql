-- summary: The newest articles about a company.
-- agent: news
-- reads: news
-- param ticker ticker required | Ticker of the company.
-- param limit int = 10 | How many rows at most.
-- column id | Article id.
-- column title | Headline.
-- column teaser | Short text under the headline.
-- column channels | Editorial channels.
-- column created | When the article first appeared.
SELECT available_at, available_at_source, id, title, teaser, channels, created
FROM news_of($ticker)
ORDER BY created DESC, id
LIMIT $limit
