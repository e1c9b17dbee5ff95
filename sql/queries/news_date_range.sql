-- summary: Articles about one company or all companies, published since a start, newest first.
-- agent: news
-- reads: news, benzinga_news
-- ids: id
-- param ticker ticker optional | Ticker of the company; default: every company.
-- param start_date moment required | First instant, or first New York day.
-- column id
-- column title
-- column teaser
-- column channels
-- column created
-- column source | Dataset of the article: news, or benzinga_news if the former does not have it.
-- column evidence
SELECT available_at, available_at_source, id, title, teaser, channels, created, source, evidence
FROM articles_of($company)
WHERE created >= $start_date::TIMESTAMPTZ
ORDER BY created DESC, id
