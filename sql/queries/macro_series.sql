-- summary: The history of a macroeconomic series as it stood at as_of, oldest first.
-- agent: macro
-- reads: macro_observations, macro_panels
-- ids: dataset, observation_date
-- param series text required | Id of the series, such as GDP.
-- param limit int = 120 | Maximum number of periods, the newest ones.
-- column dataset | macro_observations, or macro_panels if the former does not have the series.
-- column observation_date
-- column value [the series' own] | Its value in the newest vintage that was public.
-- column evidence
WITH
    told AS (
        SELECT available_at, available_at_source, 'macro_observations' AS dataset, observation_date, value, evidence
        FROM macro_observations
        WHERE series_id = $series AND value IS NOT NULL
        UNION ALL
        SELECT available_at, available_at_source, 'macro_panels', observation_date, value, evidence
        FROM macro_panels
        WHERE series = $series
    ),
    newest AS (
        FROM told
        WHERE dataset = (SELECT min(dataset) FROM told)
        ORDER BY observation_date DESC
        LIMIT $limit
    )
FROM newest
ORDER BY observation_date
