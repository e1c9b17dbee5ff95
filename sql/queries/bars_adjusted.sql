-- summary: Daily bars of a symbol, adjusted for the splits executed and public at as_of, oldest first.
-- agent: entity
-- reads: prices, own_bars, av_daily_bars, splits, polygon_splits
-- ids: entity_id, date
-- hindsight: evidence_ids
-- param ticker ticker required | Ticker of a company, or of an industry, sector or index ETF.
-- param start_date day optional | First trading day; default: all.
-- param end_date day optional | Last trading day; default: the newest.
-- column date
-- column open [unit] | First price of the regular session, divided by split_factor; null if the basis is unproven.
-- column high [unit] | Highest price, likewise.
-- column low [unit] | Lowest price, likewise.
-- column close [unit] | Last price, likewise.
-- column vwap [unit] | Volume-weighted average price, likewise.
-- column volume [shares] | Traded shares, times split_factor.
-- column unit
-- column split_factor [ratio] | Number of shares that one share of the bar's day has become; null if the basis is unproven.
-- column basis | as_traded (no split followed), adjusted, or unproven (a split is uncertain, or a later overnight move is as large as a split's and neither a recorded split nor the volume explains it).
-- column adjusted_to | Execution day of the newest split the prices are adjusted for; null if there was none.
-- column entity_id
-- column source
-- column evidence_ids | Evidence of the bar and of each split.
SELECT
    greatest(available_at, split_at) AS available_at,
    available_at_source,
    date,
    CASE WHEN whole THEN open / split_factor END AS open,
    CASE WHEN whole THEN high / split_factor END AS high,
    CASE WHEN whole THEN low / split_factor END AS low,
    CASE WHEN whole THEN close / split_factor END AS close,
    CASE WHEN whole THEN vwap / split_factor END AS vwap,
    CASE WHEN whole THEN volume * split_factor END AS volume,
    'USD' AS unit,
    CASE WHEN whole THEN split_factor END AS split_factor,
    CASE WHEN NOT whole THEN 'unproven' WHEN adjusted_to IS NULL THEN 'as_traded' ELSE 'adjusted' END AS basis,
    CASE WHEN whole THEN adjusted_to END AS adjusted_to,
    entity_id,
    source,
    list_concat([evidence], split_evidence) AS evidence_ids
FROM adjusted_bars($company, since := coalesce($start_date::DATE, DATE '-infinity'))
WHERE date <= coalesce($end_date::DATE, date)
ORDER BY date
