-- summary: Executed share splits of a company, newest first.
-- agent: entity
-- reads: splits, polygon_splits
-- ids: execution_date
-- hindsight: evidence
-- param ticker ticker required | Ticker of the company.
-- column date | Day the graph files the split under: the day of execution.
-- column execution_date | Day the split took effect.
-- column split_from [shares] | Shares before; null if two sources state different splits for the day.
-- column split_to [shares] | Shares after; likewise.
-- column source | Dataset whose statement was public first: splits or polygon_splits.
-- column evidence
SELECT
    available_at, available_at_source, execution_date AS date, execution_date, split_from, split_to, source, evidence
FROM splits_of([$company])
ORDER BY execution_date DESC, split_from, split_to
