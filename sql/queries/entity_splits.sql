-- summary: Share splits of a company that have been executed, newest first.
-- agent: entity
-- reads: splits
-- ids: execution_date
-- hindsight: evidence
-- param ticker ticker required | Ticker of the company.
-- column date | Day the split hangs on: the day of execution.
-- column execution_date | Day the split took effect.
-- column split_from [shares] | Shares before.
-- column split_to [shares] | Shares after.
-- column evidence | What the row is taken from.
SELECT available_at, available_at_source, execution_date AS date, execution_date, split_from, split_to, evidence
FROM splits
WHERE is_about($company, NULL, [ticker], available_at)
ORDER BY execution_date DESC, split_from, split_to
