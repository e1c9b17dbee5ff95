-- summary: Articles about one company or all companies, in one editorial channel, published since a start, newest first.
-- agent: news
-- reads: news, benzinga_news
-- ids: id
-- param ticker ticker optional | Ticker of the company; default: every company.
-- param start_date moment required | First instant, or first New York day.
-- param channel text required | Part of a channel's name, such as Earnings; case does not matter.
-- column id
-- column title
-- column channels
-- column created
-- column source | Dataset of the article: news, or benzinga_news if the former does not have it.
-- column evidence
SELECT available_at, available_at_source, id, title, channels, created, source, evidence
FROM articles_of($company)
WHERE
    created >= $start_date::TIMESTAMPTZ
    AND len(list_filter(channels, lambda channel: contains(lower(channel), lower($channel)))) > 0
ORDER BY created DESC, id
