-- title: Price up to T
-- reads: prices, own_bars, av_daily_bars, splits, polygon_splits
SELECT
    source AS dataset, entity_kind, entity_id, symbol AS ticker, date, open, high, low, close, volume,
    CASE WHEN whole THEN close / split_factor END AS adjusted,
    split_factor, split_evidence, available_at, available_at_source, evidence
FROM adjusted_bars($company, since := as_of()::DATE - 399)
ORDER BY date
