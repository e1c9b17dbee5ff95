-- Macroeconomic values in the vintage that was public, one row per series and observed period; a withdrawn value is
-- null.
-- Of several revisions of one key the newest that was public counts; macro_observations_revisions holds all of them.
CREATE VIEW macro_observations AS
SELECT
    available_at, available_at_source, series_id, observation_date, vintage_date, value, value_text,
    withdrawn, evidence
FROM macro_observations_revisions
QUALIFY row_number() OVER (
    PARTITION BY series_id, observation_date
    ORDER BY vintage_date DESC, available_at DESC, evidence DESC
) = 1;
