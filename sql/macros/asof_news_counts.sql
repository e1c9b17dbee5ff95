-- reads: news, benzinga_news
-- The number of articles about each company that were public, at each instant at which one became public. An edited
-- article counts once, and so does an article that both sources have.
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
