-- summary: Every public vintage of one period of a macroeconomic series, oldest first.
-- agent: macro
-- reads: macro_observations, macro_panels
-- ids: dataset, vintage
-- param series text required | Id of the series, such as GDP.
-- param period day required | First day of the period observed, such as 2014-01-01 for its first quarter.
-- column dataset | macro_observations or macro_panels.
-- column vintage | Day, or month of the file, on which the value was published.
-- column value [the series' own] | The value; null if this vintage withdrew it.
-- column change [the series' own] | Difference from the previous vintage.
-- column evidence
WITH
    told AS (
        SELECT
            available_at,
            available_at_source,
            'macro_observations' AS dataset,
            vintage_date::VARCHAR AS vintage,
            value,
            evidence
        FROM macro_observations_revisions
        WHERE series_id = $series AND observation_date = $period::DATE
        UNION ALL
        SELECT available_at, available_at_source, 'macro_panels', vintage, value, evidence
        FROM macro_panels_revisions
        WHERE series = $series AND observation_date = $period::DATE
    ),
    newest AS (
        SELECT * FROM told
        QUALIFY row_number() OVER (PARTITION BY dataset, vintage ORDER BY available_at DESC, evidence DESC) = 1
    )
SELECT
    * EXCLUDE (evidence),
    value - lag(value) OVER (PARTITION BY dataset ORDER BY vintage) AS change,
    evidence
FROM newest
ORDER BY dataset, vintage
