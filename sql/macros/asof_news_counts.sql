-- reads: news
-- How many articles about each company had become public, at each instant one did; an edited article counts once.
CREATE MACRO asof_news_counts(companies) AS TABLE
SELECT DISTINCT
    company,
    available_at,
    available_at_source,
    count(*) OVER (
        PARTITION BY company ORDER BY available_at RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS articles
FROM first_articles('lake.news', companies);
