-- reads: news, benzinga_news
-- The articles about a company, or about all companies if it is null, from every source. Each article is returned once:
-- as the graph holds it, otherwise as Benzinga serves it. `source` names the dataset.
CREATE MACRO articles_of(wanted) AS TABLE
SELECT available_at, available_at_source, id, tickers, title, teaser, channels, created, 'news' AS source, evidence
FROM news_of(wanted)
UNION ALL
SELECT available_at, available_at_source, id, tickers, title, teaser, channels, created, 'benzinga_news', evidence
FROM benzinga_news AS article
WHERE is_about(wanted, NULL, tickers, available_at)
    AND NOT EXISTS (FROM news WHERE news.id = 'bzNews_' || article.id);
