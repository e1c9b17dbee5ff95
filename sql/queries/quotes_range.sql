-- summary: The public quotes of one instrument of a trading desk since a day, oldest first.
-- agent: macro
-- reads: market_quotes
-- ids: instrument, quoted_on, tenor, point, measure
-- param kind text required | curve, fx, future, vol, spread, commodity or index.
-- param instrument text required | Name of the instrument.
-- param start_date day required | First business day.
-- param tenor text optional | Maturity, such as 10Y, or spot; default: every one.
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
    AND instrument = $instrument
    AND quoted_on >= $start_date::DATE
    AND ($tenor::VARCHAR IS NULL OR tenor = $tenor::VARCHAR)
ORDER BY quoted_on, tenor, point, measure
