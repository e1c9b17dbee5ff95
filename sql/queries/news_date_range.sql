-- summary: Articles about a company, or about any, that appeared from a start on, newest first.
-- agent: news
-- reads: news, benzinga_news
-- ids: id
-- param ticker ticker optional | Ticker of the company; without it, every company.
-- param start_date moment required | First instant, or first New York day.
-- column id | Article id.
-- column title | Headline.
-- column teaser | Short text under the headline.
-- column channels | Editorial channels.
-- column created | When the article first appeared.
-- column source | Dataset of the article: news, or benzinga_news where the former does not have it.
-- column evidence | What the row is taken from.
SELECT available_at, available_at_source, id, title, teaser, channels, created, source, evidence
FROM articles_of($company)
WHERE created >= $start_date::TIMESTAMPTZ
ORDER BY created DESC, id
