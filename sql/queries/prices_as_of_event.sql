-- summary: For each ticker and instant, the newest daily bar that was public at that instant.
-- agent: helper
-- reads: prices, own_bars, av_daily_bars, splits, polygon_splits
-- ids: ticker, at
-- hindsight: evidence_ids
-- param pairs pairs required | JSON array of {"ticker": …, "at": instant}; no instant after the as of.
-- column ticker | Ticker of the pair.
-- column at | Instant of the pair.
-- column date | Trading day of the bar; null when no bar was public, and then so are the prices.
-- column open [unit] | As traded: the first price of the regular session.
-- column high [unit] | As traded: the highest price.
-- column low [unit] | As traded: the lowest price.
-- column close [unit] | As traded: the last price.
-- column volume [shares] | Traded shares.
-- column split_index [ratio] | Shares that one share of before the first split on record had become by the bar's day, as was public at the instant; closes compare between instants as close × split_index. Null where a split is uncertain, and from the first night on over which the price moved as a split moves it with neither a split on record nor the volume to say why, or did not follow the one on record.
-- column unit | Unit of the prices.
-- column source | Dataset the bar is of: prices, before own_bars, before av_daily_bars.
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
