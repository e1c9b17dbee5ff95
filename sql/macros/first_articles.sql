-- The articles about each company, each with the instant at which it first became public as an article about this company. An edit neither adds
-- an article nor changes that instant. revisions: the stored rows of a dataset of articles.
CREATE MACRO first_articles(revisions, companies) AS TABLE
SELECT * EXCLUDE (content_hash)
FROM (
    SELECT company, id, available_at, available_at_source, evidence, content_hash
    FROM (
        SELECT unnest(tickers) AS ticker, id, available_at, available_at_source, evidence, content_hash
        FROM query_table(revisions)
    )
    JOIN company_parts(companies) AS part USING (ticker)
    WHERE available_at >= since AND available_at < until
)
QUALIFY row_number() OVER (PARTITION BY company, id ORDER BY available_at, evidence, content_hash) = 1;
