-- Share splits, one row per split, however it was corrected.
-- Of several revisions of one key the newest that was public counts; polygon_splits_revisions holds all of them.
CREATE VIEW polygon_splits AS
SELECT
    available_at, available_at_source, ticker, execution_date, ordinal, split_from, split_to, split_id, evidence
FROM polygon_splits_revisions
QUALIFY row_number() OVER (
    PARTITION BY ticker, ordinal
    ORDER BY available_at DESC, evidence DESC
) = 1;
