-- summary: For each ticker and instant, the newest daily bar that was public at that instant.
-- agent: helper
-- reads: prices, own_bars, av_daily_bars, splits, polygon_splits
-- ids: ticker, at
-- hindsight: evidence_ids
-- param pairs pairs required | JSON array of {"ticker": …, "at": instant}; instants must not be after as_of.
-- column ticker
-- column at
-- column date | Trading day of the bar; null, like the prices, if no bar was public.
-- column open [unit] | As traded: the first price of the regular session.
-- column high [unit] | As traded: the highest price.
-- column low [unit] | As traded: the lowest price.
-- column close [unit] | As traded: the last price.
-- column volume
-- column split_index [ratio] | Number of shares that one share from before the first recorded split had become by the bar's day, by the splits public at the instant. Compare closes of different instants as close × split_index. Null if a split is uncertain. Also null from the first night over which the price moved as much as in a split that neither a recorded split nor the volume explains, or did not follow the recorded split.
-- column unit
-- column source
-- column evidence_ids | Evidence of the bar and of each split behind split_index.
SELECT
    coalesce(available_at, priced.at) AS available_at,
    coalesce(available_at_source, 'time_series_timestamp') AS available_at_source,
    ticker,
    priced.at,
    date,
    open,
    high,
    low,
    close,
    volume,
    split_index,
    'USD' AS unit,
    source,
    evidence_ids
FROM prices_at($pairs) AS priced
ORDER BY position
