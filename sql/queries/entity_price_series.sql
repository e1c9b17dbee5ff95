-- summary: Daily bars of a symbol, newest first.
-- agent: entity
-- reads: prices
-- param ticker ticker required | Ticker of a company, or of an industry, sector or index ETF.
-- column date | Trading day of the bar.
-- column open | First price of the regular session.
-- column high | Highest price.
-- column low | Lowest price.
-- column close | Last price.
-- column volume | Traded shares.
SELECT available_at, available_at_source, date, open, high, low, close, volume
FROM bars_of($ticker)
ORDER BY date DESC
