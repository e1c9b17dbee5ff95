-- Articles of Benzinga's REST interface in the newest text that was public, one row per article.
-- Of several revisions of one key the newest that was public counts; benzinga_news_revisions holds all of them.
CREATE VIEW benzinga_news AS
SELECT
    available_at, available_at_source, id, ticker, tickers, title, teaser, body, url, author, channels, tags,
    created, updated, evidence
FROM benzinga_news_revisions
QUALIFY row_number() OVER (
    PARTITION BY id
    ORDER BY available_at DESC, evidence DESC
) = 1;
