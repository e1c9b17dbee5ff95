-- reads: news
-- How many articles about each ticker had become public, at each instant one did; an edited article counts once.
CREATE MACRO asof_news_counts(symbols) AS TABLE
SELECT DISTINCT
    ticker,
    available_at,
    available_at_source,
    count(*) OVER (
        PARTITION BY ticker ORDER BY available_at RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS articles
FROM first_articles('lake.news', symbols);
