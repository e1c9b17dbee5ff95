-- title: Analysts' estimates
-- reads: av_estimates
SELECT
    ticker, horizon, fiscal_date_ending, eps_estimate_average, eps_estimate_analyst_count, revenue_estimate_average,
    available_at, available_at_source, evidence
FROM av_estimates
WHERE is_about($company, NULL, [ticker], available_at) AND fiscal_date_ending >= as_of()::DATE - 100
ORDER BY fiscal_date_ending, horizon
LIMIT 8
