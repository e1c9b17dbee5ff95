-- Pages of the allowed sources in the newest text that was public, one row per address.
-- Of several revisions of one key the newest that was public counts; web_pages_revisions holds all of them.
CREATE VIEW web_pages AS
SELECT
    available_at, available_at_source, url, host, title, text, published, dated_at, claim_method, claim_quote,
    claims, evidence
FROM web_pages_revisions
QUALIFY row_number() OVER (
    PARTITION BY url
    ORDER BY available_at DESC, evidence DESC
) = 1;
