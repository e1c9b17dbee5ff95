-- title: Macro
-- reads: macro_observations
SELECT series_id, observation_date, vintage_date, value, available_at, available_at_source, evidence
FROM macro_observations
WHERE value IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY series_id ORDER BY observation_date DESC) = 1
ORDER BY series_id
