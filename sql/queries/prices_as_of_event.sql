-- summary: For each ticker and instant, the newest daily bar that was public at that instant.
-- agent: helper
-- reads: prices
-- param pairs pairs required | JSON array of {"ticker": …, "at": instant}; no instant after the as of.
-- column ticker | Ticker of the pair.
-- column at | Instant of the pair.
-- column date | Trading day of the bar; null when no bar was public, and then so are the prices.
-- column open | First price of the regular session.
-- column high | Highest price.
-- column low | Lowest price.
-- column close | Last price.
-- column volume | Traded shares.
WITH
    events AS MATERIALIZED (FROM asof_pairs($pairs)),
    bars AS MATERIALIZED (FROM asof_prices((SELECT list(DISTINCT ticker) FROM events)))
SELECT
    coalesce(bar.available_at, events.at) AS available_at,
    coalesce(bar.available_at_source, 'time_series_timestamp') AS available_at_source,
    events.ticker,
    events.at,
    bar.date,
    bar.open,
    bar.high,
    bar.low,
    bar.close,
    bar.volume
FROM events
ASOF LEFT JOIN bars AS bar ON bar.symbol = events.ticker AND events.at >= bar.available_at
ORDER BY events.position
