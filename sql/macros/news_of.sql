-- reads: news
-- What the view `news` holds about one company, or about all when the ticker is null. A filter by ticker does not
-- pass below the view's window over the key, so the view reads the whole dataset. Here the keys come first, then their
-- newest revisions by small columns alone, and only then the texts, of which a window would hold every one.
CREATE MACRO news_of(wanted) AS TABLE
WITH
    keys AS MATERIALIZED (SELECT id FROM lake.news WHERE list_contains(tickers, wanted)),
    newest AS (
        SELECT id, available_at, evidence, content_hash
        FROM lake.news
        WHERE wanted::VARCHAR IS NULL OR id IN (FROM keys)
        QUALIFY row_number() OVER (PARTITION BY id ORDER BY available_at DESC, evidence DESC, content_hash DESC) = 1
    )
FROM lake.news SEMI JOIN newest USING (id, available_at, evidence, content_hash)
WHERE wanted::VARCHAR IS NULL OR list_contains(tickers, wanted);
