-- summary: Daily bars of a symbol since a day, oldest first.
-- agent: entity
-- reads: prices, own_bars, av_daily_bars
-- ids: entity_id, date
-- hindsight: evidence
-- param ticker ticker required | Ticker of a company, or of an industry, sector or index ETF.
-- param start_date day required | First trading day.
-- column date
-- column open
-- column high
-- column low
-- column close
-- column volume
-- column unit
-- column entity_id
-- column source
-- column evidence
SELECT
    available_at,
    available_at_source,
    date,
    open,
    high,
    low,
    close,
    volume,
    'USD' AS unit,
    entity_id,
    source,
    evidence
FROM bars_of($company, since := $start_date::DATE)
ORDER BY date
