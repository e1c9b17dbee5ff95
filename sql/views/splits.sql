-- Executed share splits, one row per company and day.
-- Of several revisions of one key the newest that was public counts; splits_revisions holds all of them.
CREATE VIEW splits AS
SELECT
    available_at, available_at_source, ticker, execution_date, split_from, split_to, evidence
FROM splits_revisions
QUALIFY row_number() OVER (
    PARTITION BY ticker, execution_date
    ORDER BY available_at DESC, evidence DESC
) = 1;
