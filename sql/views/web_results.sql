-- Pages that web searches found, one row per address, as last found.
-- Of several revisions of one key the newest that was public counts; web_results_revisions holds all of them.
CREATE VIEW web_results AS
SELECT
    available_at, available_at_source, url, host, title, snippet, published_on, updated_on, operation, query,
    evidence
FROM web_results_revisions
QUALIFY row_number() OVER (
    PARTITION BY url
    ORDER BY available_at DESC, operation DESC, query DESC, evidence DESC
) = 1;
