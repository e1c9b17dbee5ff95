-- How many values of each field providers say otherwise today than when they were captured first.
-- Of several measurements the newest counts; drift_revisions holds all of them.
CREATE VIEW drift AS
SELECT
    available_at, available_at_source, source, dataset, field, measured_at, compared, changed, share, low, high,
    evidence
FROM drift_revisions
QUALIFY row_number() OVER (
    PARTITION BY dataset, field
    ORDER BY available_at DESC, evidence DESC
) = 1;
