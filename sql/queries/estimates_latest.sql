-- summary: Analysts' newest estimates of a company's earnings and revenue, the latest periods first.
-- agent: entity
-- reads: av_estimates
-- ids: horizon, fiscal_date_ending
-- hindsight: evidence
-- param ticker ticker required | Ticker of the company.
-- param limit int = 8 | Maximum number of periods.
-- column horizon | Fiscal quarter or fiscal year, possibly a past one.
-- column fiscal_date_ending | Month end that identifies the period.
-- column eps_estimate_average [eps_unit] | Mean estimate of earnings per share.
-- column eps_estimate_analyst_count [analysts] | Number of analysts who estimate it.
-- column revenue_estimate_average [revenue_unit] | Mean estimate of revenue.
-- column eps_unit | Unit of the estimate of earnings.
-- column revenue_unit | Unit of the estimate of revenue.
-- column evidence
SELECT
    available_at,
    available_at_source,
    horizon,
    fiscal_date_ending,
    eps_estimate_average,
    eps_estimate_analyst_count,
    revenue_estimate_average,
    'USD per share' AS eps_unit,
    'USD' AS revenue_unit,
    evidence
FROM av_estimates
WHERE is_about($company, NULL, [ticker], available_at)
ORDER BY fiscal_date_ending DESC, horizon
LIMIT $limit
