-- summary: Analysts' newest estimates of a company's earnings and revenue, the latest periods first.
-- agent: entity
-- reads: av_estimates
-- hindsight: evidence
-- param ticker ticker required | Ticker of the company.
-- param limit int = 8 | How many periods at most.
-- column horizon | fiscal quarter, fiscal year or a past one.
-- column fiscal_date_ending | Month end that names the period.
-- column eps_estimate_average | Mean estimate of earnings per share, USD.
-- column eps_estimate_analyst_count | How many estimate it.
-- column revenue_estimate_average | Mean estimate of revenue, USD.
-- column evidence | What the row is taken from.
SELECT
    available_at,
    available_at_source,
    horizon,
    fiscal_date_ending,
    eps_estimate_average,
    eps_estimate_analyst_count,
    revenue_estimate_average,
    evidence
FROM av_estimates
WHERE ticker = $ticker
ORDER BY fiscal_date_ending DESC, horizon
LIMIT $limit
