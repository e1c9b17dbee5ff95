-- What was known of a company at an instant beside an earnings release, one row a value. Built again, it must be the same.
-- Of several revisions of one key the newest that was public counts; earnings_snapshots_revisions holds all of them.
CREATE VIEW earnings_snapshots AS
SELECT
    available_at, available_at_source, accession_no, ticker, event_at, release_rule, anchor, as_of, section, name,
    value, text, unit, known_at, withdrawn, evidence_ids, evidence
FROM earnings_snapshots_revisions
QUALIFY row_number() OVER (
    PARTITION BY accession_no, anchor, section, name
    ORDER BY available_at DESC, evidence DESC
) = 1;
