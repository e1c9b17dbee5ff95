-- summary: A desk's newest public quotes of a kind: every point of the newest day of each instrument.
-- agent: macro
-- reads: market_quotes
-- ids: instrument, quoted_on, tenor, point, measure
-- param kind text required | curve, fx, future, vol, spread, commodity or index.
-- param instruments texts optional | Names of instruments; without them, every one of the kind.
-- param day day optional | Business day of the quotes; without it, the newest of each instrument.
-- column instrument | What it is called.
-- column quoted_on | Business day of the quote.
-- column tenor | How far ahead.
-- column point | Strike or delta; outright where there is none.
-- column measure | What the number is.
-- column value [unit] | The number.
-- column unit | Its unit, as the file said.
-- column evidence | What the row is taken from.
SELECT available_at, available_at_source, instrument, quoted_on, tenor, point, measure, value, unit, evidence
FROM market_quotes
WHERE
    kind = lower($kind)
    AND ($instruments::VARCHAR[] IS NULL OR list_contains($instruments::VARCHAR[], instrument))
    AND ($day::DATE IS NULL OR quoted_on = $day::DATE)
QUALIFY quoted_on = max(quoted_on) OVER (PARTITION BY instrument)
ORDER BY instrument, measure, tenor, point
