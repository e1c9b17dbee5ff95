-- summary: For each ticker and instant, the newest daily bar that was public at that instant.
-- agent: helper
-- reads: prices, splits, polygon_splits
-- param pairs pairs required | JSON array of {"ticker": …, "at": instant}; no instant after the as of.
-- column ticker | Ticker of the pair.
-- column at | Instant of the pair.
-- column date | Trading day of the bar; null when no bar was public, and then so are the prices.
-- column open | As traded: the first price of the regular session.
-- column high | As traded: the highest price.
-- column low | As traded: the lowest price.
-- column close | As traded: the last price.
-- column volume | Traded shares.
-- column split_index | Shares that one share of before the first split on record had become by the bar's day, as was public at the instant; closes compare between instants as close × split_index. Null where a split is uncertain.
WITH
    events AS MATERIALIZED (FROM asof_pairs($pairs)),
    bars AS MATERIALIZED (FROM asof_prices((SELECT list(DISTINCT ticker) FROM events))),
    joined AS MATERIALIZED (
        SELECT events.position, events.ticker, events.at, bar.* EXCLUDE (symbol)
        FROM events
        ASOF LEFT JOIN bars AS bar ON bar.symbol = events.ticker AND events.at >= bar.available_at
    ),
    moved AS (
        SELECT joined.position, CASE WHEN bool_and(split.ratio IS NOT NULL) THEN product(split.ratio) END AS shares
        FROM joined
        JOIN splits_of((SELECT list(DISTINCT ticker) FROM events)) AS split
            ON split.ticker = joined.ticker
            AND split.execution_date <= joined.date
            AND split.available_at <= joined.at
        GROUP BY joined.position
    )
SELECT
    coalesce(available_at, joined.at) AS available_at,
    coalesce(available_at_source, 'time_series_timestamp') AS available_at_source,
    ticker,
    joined.at,
    date,
    open,
    high,
    low,
    close,
    volume,
    CASE WHEN moved.position IS NOT NULL THEN shares WHEN date IS NOT NULL THEN 1 END AS split_index
FROM joined
LEFT JOIN moved ON moved.position = joined.position
ORDER BY joined.position
