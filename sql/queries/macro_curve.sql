-- summary: US Treasury yields by maturity, on one day or on the newest day that has at least two.
-- agent: macro
-- reads: macro_observations
-- ids: series_id, observation_date
-- param day day optional | Day of the yields; default: the newest day with at least two maturities.
-- column observation_date | Day of the yields.
-- column series_id | Series of the constant maturity: DGS and the years, or DGS, the months and MO.
-- column years [years] | Maturity in years.
-- column yield [unit] | Yield.
-- column unit | Unit of the yield.
-- column evidence
WITH
    yields AS (
        SELECT
            available_at,
            available_at_source,
            observation_date,
            series_id,
            regexp_extract(series_id, 'DGS(\d+)', 1)::DOUBLE / CASE WHEN series_id LIKE '%MO' THEN 12 ELSE 1 END AS years,
            value AS yield,
            'percent a year, paid twice a year' AS unit,
            evidence
        FROM macro_observations
        WHERE regexp_full_match(series_id, 'DGS\d+(MO)?') AND value IS NOT NULL
    ),
    chosen AS (
        SELECT max(observation_date) AS chosen FROM (
            SELECT observation_date FROM yields
            WHERE $day::DATE IS NULL OR observation_date = $day::DATE
            GROUP BY observation_date
            HAVING $day::DATE IS NOT NULL OR count(*) > 1
        )
    )
SELECT yields.*
FROM yields JOIN chosen ON observation_date = chosen
ORDER BY years
