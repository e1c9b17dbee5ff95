-- reads: exhibits
-- What the view `exhibits` holds about one company, or about all when the ticker is null. A filter by ticker does not
-- pass below the view's window over the key, so the view reads the whole dataset. Here the keys come first, then their
-- newest revisions by small columns alone, and only then the texts, of which a window would hold every one.
CREATE MACRO exhibits_of(wanted) AS TABLE
WITH
    keys AS MATERIALIZED (SELECT accession_no FROM lake.exhibits WHERE ticker = wanted),
    newest AS (
        SELECT accession_no, exhibit_number, available_at, evidence, content_hash
        FROM lake.exhibits
        WHERE wanted::VARCHAR IS NULL OR accession_no IN (FROM keys)
        QUALIFY row_number() OVER (PARTITION BY accession_no, exhibit_number ORDER BY available_at DESC, evidence DESC, content_hash DESC) = 1
    )
FROM lake.exhibits SEMI JOIN newest USING (accession_no, exhibit_number, available_at, evidence, content_hash)
WHERE wanted::VARCHAR IS NULL OR ticker = wanted;
