-- The FRED-MD panel in the newest file that was public, one row per series and month.
-- Of several revisions of one key the newest that was public counts; macro_panels_revisions holds all of them.
CREATE VIEW macro_panels AS
SELECT
    available_at, available_at_source, series, observation_date, vintage, value, transformation, evidence
FROM macro_panels_revisions
QUALIFY row_number() OVER (
    PARTITION BY series, observation_date
    ORDER BY vintage DESC, available_at DESC, evidence DESC
) = 1;
