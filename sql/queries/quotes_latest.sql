-- summary: The newest public quotes of a trading desk of one kind: every point of each instrument's newest day.
-- agent: macro
-- reads: market_quotes
-- ids: instrument, quoted_on, tenor, point, measure
-- param kind text required | curve, fx, future, vol, spread, commodity or index.
-- param instruments texts optional | Names of instruments; default: every one of the kind.
-- param day day optional | Business day of the quotes; default: each instrument's newest.
-- column instrument
-- column quoted_on
-- column tenor
-- column point
-- column measure
-- column value [unit] | The number.
-- column unit | Its unit, as given in the file.
-- column evidence
SELECT available_at, available_at_source, instrument, quoted_on, tenor, point, measure, value, unit, evidence
FROM market_quotes
WHERE
    kind = lower($kind)
    AND ($instruments::VARCHAR[] IS NULL OR list_contains($instruments::VARCHAR[], instrument))
    AND ($day::DATE IS NULL OR quoted_on = $day::DATE)
QUALIFY quoted_on = max(quoted_on) OVER (PARTITION BY instrument)
ORDER BY instrument, measure, tenor, point
