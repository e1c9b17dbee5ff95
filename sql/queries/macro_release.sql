-- summary: Releases of macroeconomic series on a New York day: new periods, and revisions of earlier ones.
-- agent: macro
-- reads: macro_observations
-- ids: series_id, observation_date, vintage_date
-- param day day required | The New York day of the release.
-- param series texts optional | Ids of series; default: every series.
-- param limit int = 100 | Maximum number of rows, the newest periods first.
-- column series_id
-- column observation_date
-- column value [the series' own] | The released value; null if it was withdrawn.
-- column previous_value [the series' own] | The period's value before this release; null if there was none.
-- column is_first | Whether it is the period's first value.
-- column vintage_date | Day on which this value was published.
-- column evidence
WITH
    told AS (
        SELECT
            available_at,
            available_at_source,
            series_id,
            observation_date,
            value,
            lag(value) OVER vintages AS previous_value,
            row_number() OVER vintages = 1 AS is_first,
            vintage_date,
            evidence
        FROM macro_observations_revisions
        WHERE $series::VARCHAR[] IS NULL OR list_contains($series::VARCHAR[], series_id)
        WINDOW vintages AS (PARTITION BY series_id, observation_date ORDER BY vintage_date, available_at)
    )
FROM told
WHERE (available_at AT TIME ZONE 'America/New_York')::DATE = $day::DATE
ORDER BY observation_date DESC, series_id, vintage_date DESC
LIMIT $limit
