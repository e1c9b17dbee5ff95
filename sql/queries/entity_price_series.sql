-- summary: Daily bars of a symbol, newest first.
-- agent: entity
-- reads: prices, own_bars, av_daily_bars
-- ids: entity_id, date
-- hindsight: evidence
-- param ticker ticker required | Ticker of a company, or of an industry, sector or index ETF.
-- column date | Trading day of the bar.
-- column open [unit] | First price of the regular session.
-- column high [unit] | Highest price.
-- column low [unit] | Lowest price.
-- column close [unit] | Last price.
-- column volume [shares] | Traded shares.
-- column unit | Unit of the prices.
-- column entity_id | CIK, or the industry's, sector's or index's id.
-- column source | Dataset of the bar, in order of preference: prices, own_bars, av_daily_bars.
-- column evidence | Source record of the row.
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
FROM bars_of($company)
ORDER BY date DESC
