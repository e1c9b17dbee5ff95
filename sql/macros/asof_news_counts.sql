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
FROM (
    SELECT ticker, id, min(available_at) AS available_at, arg_min(available_at_source, available_at) AS available_at_source
    FROM (SELECT unnest(tickers) AS ticker, id, available_at, available_at_source FROM lake.news)
    WHERE ticker IN (SELECT unnest(symbols))
    GROUP BY ticker, id
);
