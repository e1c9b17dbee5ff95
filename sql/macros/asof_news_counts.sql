-- reads: news, benzinga_news
-- For each instant at which an article about a company became public, the number of articles about it that were public.
-- An edited article, and an article in both sources, counts once.
CREATE MACRO asof_news_counts(companies) AS TABLE
WITH
    articles AS (
        FROM (
            FROM first_articles('lake.news', companies)
            UNION ALL
            SELECT * REPLACE ('bzNews_' || id AS id) FROM first_articles('lake.benzinga_news', companies)
        )
        QUALIFY row_number() OVER (PARTITION BY company, id ORDER BY available_at, evidence) = 1
    )
SELECT DISTINCT
    company,
    available_at,
    available_at_source,
    count(*) OVER (
        PARTITION BY company ORDER BY available_at RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS articles
FROM articles;
