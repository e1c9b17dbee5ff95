-- The articles about each ticker, each as it first was public about it: an edit is no further article, and no later one.
-- revisions: the stored rows of a dataset of articles.
CREATE MACRO first_articles(revisions, symbols) AS TABLE
SELECT * EXCLUDE (content_hash)
FROM (
    SELECT unnest(tickers) AS ticker, id, available_at, available_at_source, evidence, content_hash
    FROM query_table(revisions)
)
WHERE ticker IN (SELECT unnest(symbols))
QUALIFY row_number() OVER (PARTITION BY ticker, id ORDER BY available_at, evidence, content_hash) = 1;
