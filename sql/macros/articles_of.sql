-- reads: news, benzinga_news
-- Benzinga's articles about a company, or about all companies if it is null, that the graph does not have. text: the
-- text that searches read, without HTML tags.
CREATE MACRO benzinga_of(wanted) AS TABLE
SELECT
    available_at, available_at_source, id, ticker, tickers, title, teaser, channels, created,
    'benzinga_news' AS source, evidence,
    concat_ws(chr(10), title, teaser, regexp_replace(body, '<[^>]*>', ' ', 'g')) AS text
FROM benzinga_news AS article
WHERE has_label(wanted, tickers)
    AND is_about(wanted, NULL, tickers, available_at)
    AND NOT EXISTS (FROM lake.news AS held WHERE held.id = 'bzNews_' || article.id);

-- The articles about a company, or about all companies if it is null, from every source. Each article is returned once:
-- from the graph if it has the article, otherwise from Benzinga. `source` names the dataset.
CREATE MACRO articles_of(wanted) AS TABLE
SELECT
    available_at, available_at_source, id, ticker, tickers, title, teaser, channels, created,
    'news' AS source, evidence,
    concat_ws(chr(10), title, teaser, body) AS text
FROM news_of(wanted)
UNION ALL
FROM benzinga_of(wanted);

-- union: articles | News of every source, each article once: as the graph has it, otherwise as Benzinga has it.
-- columns: available_at, available_at_source, id, ticker, tickers, title, teaser, channels, created, source, evidence,
-- columns: text
CREATE VIEW articles AS FROM articles_of(NULL);
