-- summary: The newest public value of each macroeconomic series, and the newest value of the period before.
-- agent: macro
-- reads: macro_observations, macro_panels
-- ids: dataset, series_id, observation_date
-- param series texts required | Ids of series, such as GDP, as in macro_observations (FRED) or macro_panels (FRED-MD).
-- column dataset | macro_observations or macro_panels; a series can be in both, measured differently.
-- column series_id
-- column observation_date | First day of the newest period that has a value.
-- column value [the series' own] | Its value.
-- column vintage | Day, or month of the file, on which this value was published.
-- column previous_date | First day of the period before it.
-- column previous_value [the series' own] | Value of that period, with revisions up to as_of.
-- column evidence
WITH
    told AS (
        SELECT
            available_at,
            available_at_source,
            'macro_observations' AS dataset,
            series_id,
            observation_date,
            value,
            vintage_date::VARCHAR AS vintage,
            evidence
        FROM macro_observations
        UNION ALL
        SELECT available_at, available_at_source, 'macro_panels', series, observation_date, value, vintage, evidence
        FROM macro_panels
    )
SELECT
    * EXCLUDE (evidence),
    lead(observation_date) OVER periods AS previous_date,
    lead(value) OVER periods AS previous_value,
    evidence
FROM told
WHERE list_contains($series, series_id) AND value IS NOT NULL
WINDOW periods AS (PARTITION BY dataset, series_id ORDER BY observation_date DESC)
QUALIFY row_number() OVER periods = 1
ORDER BY series_id, dataset
